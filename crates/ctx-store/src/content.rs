//! New content for a session file, checked against its hash as it is read.

use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Naming, StoreError};
use crate::{Figures, SnapshotKind, hex};

/// What is to stand in a session file.
pub struct NewContent<'a> {
    /// All its bytes.
    pub reader: &'a mut dyn Read,
    /// Their hash. It is checked as they are read, and again in the file that was written.
    pub sha256: &'a str,
    /// What the audit log calls the operation: `rollback`.
    pub operation: &'static str,
    /// The kind of the snapshot that is taken of what is replaced.
    pub kind: SnapshotKind,
    /// What the audit log tells of the change.
    pub figures: Figures,
}

impl NewContent<'_> {
    /// Copies all of it into the new file for `path`; returns its length.
    pub(crate) fn copy_to(&mut self, file: &mut dyn Write, path: &Path) -> Result<u64, StoreError> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 128 * 1024];
        let mut bytes = 0;
        loop {
            let n = match self.reader.read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.naming("read the new content of", path)?,
            };
            hasher.update(&buffer[..n]);
            file.write_all(&buffer[..n]).naming("write", path)?;
            bytes += n as u64;
        }
        let found = hex(&hasher.finalize());
        if found == self.sha256 {
            return Ok(bytes);
        }
        let expected = self.sha256;
        Err(StoreError::Damaged {
            id: path.display().to_string(),
            why: format!("the new content has sha256 {found} instead of {expected}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sha2::{Digest, Sha256};

    use super::NewContent;
    use crate::{Figures, SnapshotKind, StoreError, hex};

    fn copy(bytes: &[u8], sha256: &str) -> Result<Vec<u8>, StoreError> {
        let mut reader = bytes;
        let mut new = NewContent {
            reader: &mut reader,
            sha256,
            operation: "test",
            kind: SnapshotKind::Snapshot,
            figures: Figures::default(),
        };
        let mut file = Vec::new();
        let length = new.copy_to(&mut file, Path::new("s.jsonl"))?;
        assert_eq!(length, file.len() as u64);
        Ok(file)
    }

    #[test]
    fn only_content_with_its_hash_is_taken() {
        let bytes = vec![7; 300 * 1024];
        let sha256 = hex(&Sha256::digest(&bytes));
        assert_eq!(copy(&bytes, &sha256).expect("copied"), bytes);
        let error = copy(&bytes[1..], &sha256).expect_err("other bytes");
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        assert!(copy(b"", &sha256).is_err());
    }
}
