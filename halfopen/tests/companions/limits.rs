//! Limits.

use super::*;

#[test]
fn envoys_limits_are_counts() {
    let mut limits = Limits::new(LimitSettings::default()).unwrap();
    for (resource, max) in [
        (Resource::Connection, 1_024),
        (Resource::Pending, 1_024),
        (Resource::Request, 1_024),
        (Resource::Retry, 3),
    ] {
        let held: Vec<Held> = (0..max).map(|_| limits.take(resource).unwrap()).collect();
        let reached = limits.take(resource).unwrap_err();
        assert_eq!((reached.resource, reached.limit), (resource, max));
        assert_eq!(
            (limits.used(resource), limits.remaining(resource)),
            (max, 0)
        );
        assert_eq!(limits.refused(resource), 1);
        for one in held {
            limits.give(one);
        }
        assert_eq!(
            (limits.used(resource), limits.remaining(resource)),
            (0, max)
        );
    }
}

#[test]
fn a_pending_request_becomes_an_active_one() {
    let mut limits = Limits::new(LimitSettings {
        max_pending_requests: 2,
        max_requests: 1,
        max_retries: 0,
        ..LimitSettings::default()
    })
    .unwrap();
    let [a, b] = [0; 2].map(|_| limits.take(Resource::Pending).unwrap());
    let a = limits.start(a).unwrap();
    assert_eq!(a.resource(), Resource::Request);
    assert_eq!(limits.start(b).unwrap_err().resource, Resource::Request);
    assert_eq!(
        (
            limits.used(Resource::Pending),
            limits.used(Resource::Request)
        ),
        (0, 1)
    );
    assert!(limits.take(Resource::Retry).is_err());
}
