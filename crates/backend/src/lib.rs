//! What a device is to the rest of the engine.
