//! Names of servers.

use std::sync::mpsc::channel;
use std::thread::Builder;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use ureq::unversioned::transport::time::Duration;

/// Looks a name up in a thread of its own, so that the time for it is limited. ureq's own
/// resolver panics where the system gives no thread; this one then looks the name up in the
/// calling thread, without a limit.
#[derive(Debug)]
pub(crate) struct Resolve(pub(crate) fn() -> Builder);

impl Resolver for Resolve {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let unlimited = NextTimeout {
            after: Duration::NotHappening,
            ..timeout
        };
        let (sender, found) = channel();
        let look_up = {
            let (uri, config) = (uri.clone(), config.clone());
            // Nobody waits for an answer that comes too late.
            move || drop(sender.send(DefaultResolver::default().resolve(&uri, &config, unlimited)))
        };
        match self.0().spawn(look_up) {
            Err(_) => DefaultResolver::default().resolve(uri, config, unlimited),
            Ok(_) => found
                .recv_timeout(*timeout.after)
                .unwrap_or(Err(ureq::Error::Timeout(timeout.reason))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::Builder;
    use std::time::Duration as StdDuration;

    use ureq::Timeout;
    use ureq::config::Config;
    use ureq::unversioned::resolver::Resolver;
    use ureq::unversioned::transport::NextTimeout;
    use ureq::unversioned::transport::time::Duration;

    use super::Resolve;

    /// D12: no thread can be had, as under `ulimit -u 1`.
    #[test]
    fn a_name_is_looked_up_with_and_without_threads() {
        let uri = "http://127.0.0.1:8080/".parse().expect("a URI");
        let limited = |limit| NextTimeout {
            after: limit,
            reason: Timeout::Resolve,
            ..NextTimeout::default()
        };
        // No system has room for such a stack.
        let none = || Builder::new().stack_size(usize::MAX / 4);
        for thread in [Builder::new, none] {
            for limit in [StdDuration::from_secs(9).into(), Duration::NotHappening] {
                let found = Resolve(thread).resolve(&uri, &Config::default(), limited(limit));
                let found = found.expect("an address");
                assert_eq!(found[0].to_string(), "127.0.0.1:8080");
            }
        }
    }
}
