//! The leaves of a call's arguments, in their order.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value that is no object and no list, with the key it stands under.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// The nearest key; empty at the top.
    pub(crate) key: String,
    pub(crate) value: String,
}

/// The leaves of a JSON text; `None` when it is none.
pub(crate) fn leaves(arguments: &str) -> Option<Vec<Leaf>> {
    let node: Node = serde_json::from_str(arguments).ok()?;
    let mut found = Vec::new();
    node.collect("", &mut found);
    Some(found)
}

/// The keys of a JSON text's members, outer before inner; none when it is no JSON.
pub(crate) fn keys(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(node) = serde_json::from_str::<Node>(arguments) {
        node.keys(&mut found);
    }
    found
}

enum Node {
    Leaf(String),
    Members(Vec<(String, Node)>),
    Elements(Vec<Node>),
}

impl Node {
    fn collect(self, key: &str, found: &mut Vec<Leaf>) {
        match self {
            Self::Leaf(value) => found.push(Leaf {
                key: key.to_owned(),
                value,
            }),
            Self::Members(members) => {
                for (key, node) in members {
                    node.collect(&key, found);
                }
            }
            Self::Elements(elements) => {
                for node in elements {
                    node.collect(key, found);
                }
            }
        }
    }

    fn keys(&self, found: &mut Vec<String>) {
        match self {
            Self::Leaf(_) => {}
            Self::Members(members) => {
                for (key, node) in members {
                    found.push(key.clone());
                    node.keys(found);
                }
            }
            Self::Elements(elements) => elements.iter().for_each(|node| node.keys(found)),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Leaf(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Leaf(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Leaf(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Leaf(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Leaf(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf("null".to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Node::Members(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(Node::Elements(elements))
    }
}

#[cfg(test)]
mod tests {
    use super::leaves;

    #[test]
    fn leaves_come_in_the_order_of_the_text() {
        let found = leaves(r#"{"z":"1","a":{"n":2.5,"l":["x",true,null]}}"#).expect("JSON");
        let found: Vec<_> = found
            .iter()
            .map(|leaf| (leaf.key.as_str(), leaf.value.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("z", "1"),
                ("n", "2.5"),
                ("l", "x"),
                ("l", "true"),
                ("l", "null")
            ]
        );
        assert_eq!(leaves("ls -l"), None);
        assert_eq!(leaves("{"), None);
    }
}
