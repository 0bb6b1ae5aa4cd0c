//! Histograms between processes: HdrHistogram's own V2 format, as text of hexadecimal digits.

use std::fmt::Write;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HistogramDeserializer, Serializer as _, V2Serializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(histogram: &Option<Histogram<u64>>, to: S) -> Result<S::Ok, S::Error> {
    let Some(histogram) = histogram else { return to.serialize_none() };
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).map_err(|error| S::Error::custom(error.to_string()))?;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").map_err(S::Error::custom)?;
    }
    to.serialize_some(&text)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Histogram<u64>>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    let digits = text.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    let bytes = bytes.ok_or_else(|| D::Error::custom("a histogram is not hexadecimal"))?;
    let histogram = HistogramDeserializer::new().deserialize(&mut bytes.as_slice());
    histogram.map(Some).map_err(|error| D::Error::custom(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Holder(#[serde(with = "super")] Option<Histogram<u64>>);

    #[test]
    fn histograms_are_read_as_they_were_written() {
        let mut histogram = crate::core::stats::new_histogram();
        [1, 2, 3, 1_000_000, 3_599_999_999_999].iter().for_each(|value| histogram.saturating_record(*value));
        for holder in [Holder(Some(histogram)), Holder(None)] {
            let text = serde_json::to_string(&holder).unwrap();
            assert_eq!(serde_json::from_str::<Holder>(&text).unwrap().0, holder.0);
        }
        assert!(serde_json::from_str::<Holder>("\"zz\"").is_err());
    }
}
