//! What stands in a header that is made for a session that has lost its own.

/// A time for what says none.
pub(super) const NO_TIME: &str = "1970-01-01T00:00:00.000Z";

/// An id in the form of a UUID, out of the digits of a time: the same for the same session.
pub(super) fn id_of(time: &str) -> String {
    let digits = time.chars().filter(char::is_ascii_digit);
    let digits: String = digits.chain("0".repeat(20).chars()).take(20).collect();
    let (date, rest) = digits.split_at(8);
    let (minute, rest) = rest.split_at(4);
    let (second, rest) = rest.split_at(3);
    format!("{date}-{minute}-7{second}-8000-0000000{rest}")
}

#[cfg(test)]
mod tests {
    use super::{NO_TIME, id_of};

    #[test]
    fn an_id_has_the_form_of_a_uuid() {
        let of = "20260102-0304-7050-8000-000000060000";
        assert_eq!(id_of("2026-01-02T03:04:05.060Z"), of);
        assert_eq!(id_of("x"), "00000000-0000-7000-8000-000000000000");
        assert_eq!(id_of(NO_TIME).len(), 36);
    }
}
