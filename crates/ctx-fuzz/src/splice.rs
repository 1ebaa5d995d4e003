//! Adding a tag to a record, or removing it, changes no other byte.

use ctx_format::{Edits, Origin, Slot, Tag, Zone};

pub(crate) fn run(bytes: &[u8]) {
    let record = Origin::ALONE.record(bytes);
    let untagged = record.untagged();
    let (Some(splice), Some(_)) = (Origin::ALONE.record(&untagged).splice(), record.object())
    else {
        return;
    };
    let plain = Tag {
        zone: Some(Zone::Keep),
        line: Some(7),
        pin: Some("re:\"\\u0000\"".to_owned()),
        ..Tag::default()
    };
    for tag in [Some(plain), record.tag()].into_iter().flatten() {
        let mut tagged = Vec::new();
        splice.write(&untagged, &tag, &mut tagged).expect("memory does not fail");
        let again = Origin::ALONE.record(&tagged);
        assert_eq!(again.untagged(), untagged, "the tag took more than itself");
        assert_eq!(again.tag(), Some(tag), "another tag");
        assert_eq!(again.line_end(), record.line_end(), "another line end");
    }
    edit(bytes);
}

/// Checks that a text can replace the value of any member, and that the record is still a JSON
/// object.
fn edit(bytes: &[u8]) {
    const NEW: &str = "new \" \\ \u{0} text";
    let record = Origin::ALONE.record(bytes);
    let Some(object) = record.whole_object() else { return };
    for member in object.members().iter().filter(|member| member.key != Tag::KEY) {
        let mut edits = Edits::default();
        edits.put(&Slot::text(object, member.value), NEW);
        let edited = record.edited(&edits);
        let edited = Origin::ALONE.record(&edited);
        let edited = edited.whole_object().expect("an edit keeps the object whole");
        let has_it = |member: &ctx_format::Member<'_>| {
            member.value.contains("new") && member.value.contains("text")
        };
        assert!(edited.members().iter().any(has_it), "the edit is not there");
    }
}
