//! Names of servers.

use std::thread::Builder;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use ureq::unversioned::transport::time::Duration;

/// Looks a name up in a thread of its own, so that the time for it is limited. ureq's own
/// resolver panics where the system gives no thread: there it has to do without a limit.
#[derive(Debug, Default)]
pub(crate) struct Resolve(DefaultResolver);

impl Resolver for Resolve {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let timeout = if has_threads(Builder::new()) {
            timeout
        } else {
            unlimited(timeout)
        };
        self.0.resolve(uri, config, timeout)
    }
}

fn unlimited(timeout: NextTimeout) -> NextTimeout {
    NextTimeout {
        after: Duration::NotHappening,
        ..timeout
    }
}

/// Whether the system gives one more thread.
fn has_threads(builder: Builder) -> bool {
    builder.spawn(|| ()).is_ok_and(|it| it.join().is_ok())
}

#[cfg(test)]
mod tests {
    use std::thread::Builder;

    use ureq::Timeout;
    use ureq::config::Config;
    use ureq::unversioned::resolver::Resolver;
    use ureq::unversioned::transport::NextTimeout;
    use ureq::unversioned::transport::time::Duration;

    use super::{Resolve, has_threads, unlimited};

    /// D12: no thread can be had, as under `ulimit -u 1`.
    #[test]
    fn a_name_is_looked_up_with_and_without_threads() {
        assert!(has_threads(Builder::new()));
        // No system has room for such a stack.
        assert!(!has_threads(Builder::new().stack_size(usize::MAX / 4)));
        let uri = "http://127.0.0.1:8080/".parse().expect("a URI");
        let limited = NextTimeout {
            after: std::time::Duration::from_secs(9).into(),
            reason: Timeout::Resolve,
            ..NextTimeout::default()
        };
        assert_eq!(unlimited(limited).after, Duration::NotHappening);
        let resolve = Resolve::default();
        for timeout in [limited, unlimited(limited)] {
            let found = resolve.resolve(&uri, &Config::default(), timeout);
            let found = found.expect("an address");
            assert_eq!(found[0].to_string(), "127.0.0.1:8080");
        }
    }
}
