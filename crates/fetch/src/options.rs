//! What a client is made with.

use std::time::Duration;

/// Where to ask, as whom, and with how much patience.
#[derive(Debug, Clone)]
pub struct Options {
    /// The hub that references are looked up in: an `http` or `https` URL without a slash at its end.
    pub mirror: String,
    /// Bearer token; sent to the mirror's own scheme, host and port only, also when a redirect leads elsewhere.
    pub token: Option<String>,
    /// Proxy as a URL, as in `http://proxy:3128`.
    pub proxy: Option<String>,
    /// Hosts that are asked without the proxy, separated by commas, as `NO_PROXY` has them.
    pub no_proxy: Option<String>,
    /// How many attempts in a row may fail without progress before a download does; at least 1.
    pub attempts: u32,
    /// The wait after the first failure; each further one doubles it, up to half a minute.
    pub backoff: Duration,
    /// How long a connection, the head of an answer or any next byte may take.
    pub patience: Duration,
    /// The largest file that is fetched, in bytes.
    pub bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            mirror: "https://huggingface.co".to_owned(),
            token: None,
            proxy: None,
            no_proxy: None,
            attempts: 5,
            backoff: Duration::from_secs(1),
            patience: Duration::from_secs(30),
            bytes_max: 1 << 40,
        }
    }
}
