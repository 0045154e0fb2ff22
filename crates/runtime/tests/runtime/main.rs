//! The engine on the CPU: the same bits whatever changes around a token, and refusals before any work.

mod common;

mod batches;
mod devices;
mod faulty;
mod forks;
mod lanes;
mod pages;
mod programs;
mod refusals;
mod stored;
mod verify;
mod windows;
