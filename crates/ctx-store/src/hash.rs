//! sha256 of what a reader gives.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::hex;

/// sha256 of what is left of `reader`.
pub fn hash(reader: &mut impl Read) -> io::Result<String> {
    Ok(hex(&hash_bytes(reader)?))
}

/// The same in 32 bytes.
pub fn hash_bytes(reader: &mut impl Read) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    feed(&mut hasher, reader)?;
    Ok(hasher.finalize().into())
}

/// Hashes what is left of `reader`; returns its length.
pub(crate) fn feed(hasher: &mut Sha256, reader: &mut impl Read) -> io::Result<u64> {
    let mut buffer = vec![0; 128 * 1024];
    let mut length = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(length),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                length += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A reader that hashes what is read from it, for input that can be read only once.
/// Its clones share the input: one can be given away to be read, another has the hash.
#[derive(Clone)]
pub struct HashingReader(Arc<Mutex<Input>>);

struct Input {
    reader: Box<dyn Read + Send>,
    hasher: Sha256,
}

impl HashingReader {
    /// Hashes what is read from `reader`.
    pub fn new(reader: Box<dyn Read + Send>) -> Self {
        let hasher = Sha256::new();
        Self(Arc::new(Mutex::new(Input { reader, hasher })))
    }

    /// The sha256 of the whole input; what nobody has read of it is read now.
    pub fn finish(mut self) -> io::Result<String> {
        io::copy(&mut self, &mut io::sink())?;
        let input = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(hex(&input.hasher.clone().finalize()))
    }
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut input = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = input.reader.read(buffer)?;
        input.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::{HashingReader, hash};

    #[test]
    fn all_bytes_are_hashed_whoever_reads_them() {
        let expected = hash(&mut &b"abc"[..]).expect("from memory");
        assert!(expected.starts_with("ba7816bf8f01"), "{expected}");
        for length in 0..=3 {
            let reader = HashingReader::new(Box::new(&b"abc"[..]));
            let mut read = vec![0; length];
            let mut other = reader.clone();
            other.read_exact(&mut read).expect("from memory");
            assert_eq!(read, b"abc"[..length]);
            assert_eq!(reader.finish().expect("from memory"), expected);
        }
    }
}
