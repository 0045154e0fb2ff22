//! Questions to servers: redirects, who gets the token, and which answers are worth another attempt.

use std::io;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use ureq::http::{HeaderMap, Response, header};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body, Proxy};

use crate::error::Failure;
use crate::url::{Origin, Url};
use crate::{Error, Options};

const REDIRECTS_MAX: usize = 10;
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Asks servers; cheap to keep, and connections are used again.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    pub(crate) options: Options,
    mirror: Origin,
}

/// An answer with a body (status 200 or 206), or 416.
pub(crate) struct Answer {
    pub response: Response<Body>,
    /// What the hub said on the way about the checksum of what it redirects to.
    pub sha256: Option<String>,
}

impl Client {
    /// A client; an error if the mirror or the proxy is no URL.
    pub fn new(options: Options) -> Result<Client, Error> {
        let mirror = Url::parse(&options.mirror)?.origin();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy(&options)?)
            .timeout_resolve(Some(options.patience))
            .timeout_connect(Some(options.patience))
            .timeout_recv_response(Some(options.patience))
            .timeout_per_read(Some(options.patience))
            .timeout_per_write(Some(options.patience))
            .user_agent(concat!("minfer/", env!("CARGO_PKG_VERSION")))
            // Lengths and ranges count the bytes of the file, not of a compressed form.
            .accept_encoding("identity")
            .tls_config(TlsConfig::default())
            .build();
        Ok(Client { agent: config.into(), options, mirror })
    }

    /// Asks once, following redirects.
    pub(crate) fn get(&self, from: &Url, headers: &[(&str, String)]) -> Result<Answer, Failure> {
        let mut url = from.clone();
        let mut linked = None;
        for _ in 0..=REDIRECTS_MAX {
            let token = self.options.token.as_ref().filter(|_| url.origin() == self.mirror);
            let mut request = self.agent.get(url.as_str());
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            if let Some(token) = token {
                request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
            }
            let response = request.call().map_err(|error| failed(&url, error))?;
            linked = linked.or_else(|| sha256_of(response.headers(), "x-linked-etag"));
            let status = response.status().as_u16();
            match status {
                200 | 206 | 416 => {
                    // The tag of another host's store need not be a checksum of the file.
                    let own = (url.origin() == from.origin()).then(|| sha256_of(response.headers(), "etag"));
                    return Ok(Answer { response, sha256: linked.or(own.flatten()) });
                }
                301 | 302 | 303 | 307 | 308 => url = redirected(&url, response.headers())?,
                _ => return Err(refused(&url, status, token.is_some())),
            }
        }
        Err(Error::Redirect { url: from.shown(), why: "too many redirects" }.into())
    }

    /// Waits before another attempt, the longer the more have failed; `go_on` is asked all the while.
    pub(crate) fn wait(
        &self,
        failures: u32,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let factor = 1u32 << failures.saturating_sub(1).min(16);
        let until = Instant::now() + self.options.backoff.saturating_mul(factor).min(BACKOFF_MAX);
        loop {
            if go_on().is_break() {
                return Err(Error::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(Duration::from_millis(100)));
        }
    }
}

fn proxy(options: &Options) -> Result<Option<Proxy>, Error> {
    let Some(text) = &options.proxy else { return Ok(None) };
    let proxy = Proxy::new(text).map_err(|_| Error::Proxy)?;
    let Some(hosts) = &options.no_proxy else { return Ok(Some(proxy)) };
    let mut builder = Proxy::builder(proxy.protocol()).host(proxy.host()).port(proxy.port());
    if let (Some(user), Some(password)) = (proxy.username(), proxy.password()) {
        builder = builder.username(user).password(password);
    }
    for host in hosts.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        builder = builder.no_proxy(host);
    }
    builder.build().map(Some).map_err(|_| Error::Proxy)
}

fn redirected(url: &Url, headers: &HeaderMap) -> Result<Url, Error> {
    let refuse = |why| Error::Redirect { url: url.shown(), why };
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| refuse("it does not say where to"))?;
    let next = url.join(location).map_err(|_| refuse("it leads to no http or https URL"))?;
    if url.is_https() && !next.is_https() {
        return Err(refuse("it leads from https to http"));
    }
    Ok(next)
}

fn refused(url: &Url, status: u16, token: bool) -> Failure {
    let url = url.shown();
    match status {
        404 | 410 => Failure::Final(Error::NotFound { url, status }),
        401 | 403 => Failure::Final(Error::Denied { url, status, token }),
        408 | 425 | 429 | 500..=599 => Failure::Retry(Error::Status { url, status }),
        _ => Failure::Final(Error::Status { url, status }),
    }
}

fn failed(url: &Url, error: ureq::Error) -> Failure {
    use ureq::Error::{ConnectProxyFailed, ConnectionFailed, HostNotFound, Io, Protocol, Timeout};
    let worth_another = match &error {
        // What TLS does not accept, as a certificate, it will not accept later.
        Io(error) => error.kind() != io::ErrorKind::InvalidData,
        Timeout(_) | HostNotFound | ConnectionFailed | Protocol(_) | ConnectProxyFailed(_) => true,
        _ => false,
    };
    let error = Error::Connection { url: url.shown(), why: error.to_string() };
    if worth_another { Failure::Retry(error) } else { Failure::Final(error) }
}

/// A header whose value is a checksum in quotation marks.
fn sha256_of(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim_matches('"');
    is_sha256(value).then(|| value.to_lowercase())
}

pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}
