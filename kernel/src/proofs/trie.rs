//! Merkle Patricia tries of which only some nodes are known: lookups, changes and roots. alloy-trie encodes the nodes.

use std::borrow::Cow;

use alloy_rlp::Decodable;
use alloy_trie::{
    EMPTY_ROOT_HASH, Nibbles, TrieMask,
    nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode, TrieNode},
};
use revm::primitives::{B256, B256Map, keccak256};

/// Why a key can be neither looked up nor changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrieError {
    /// The node with this hash is not known.
    Missing(B256),
    Malformed(String),
}

fn decode(mut rlp: &[u8]) -> Result<TrieNode, String> {
    let node = TrieNode::decode(&mut rlp).map_err(|error| error.to_string())?;
    if rlp.is_empty() { Ok(node) } else { Err(format!("{} bytes too many", rlp.len())) }
}

/// Nodes by their hash, decoded.
#[derive(Debug, Default)]
pub struct Nodes {
    by_hash: B256Map<TrieNode>,
}

impl Nodes {
    /// Add a node; its hash is computed, never taken from elsewhere.
    pub fn insert(&mut self, rlp: &[u8]) -> Result<B256, String> {
        let hash = keccak256(rlp);
        let node = decode(rlp).map_err(|error| format!("trie node {hash} is malformed: {error}"))?;
        self.by_hash.insert(hash, node);
        Ok(hash)
    }

    pub fn hashes(&self) -> impl Iterator<Item = (&B256, &TrieNode)> {
        self.by_hash.iter()
    }

    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// The node behind a link: by hash, or, if it is shorter than a hash, in the link itself.
    pub fn resolve(&self, link: &RlpNode) -> Result<Cow<'_, TrieNode>, TrieError> {
        match link.as_hash() {
            Some(hash) => self.by_hash.get(&hash).map(Cow::Borrowed).ok_or(TrieError::Missing(hash)),
            None => decode(link).map(Cow::Owned).map_err(TrieError::Malformed),
        }
    }

    /// The value of `key` in the trie with this root; `None` if the nodes prove that there is none.
    pub fn get(&self, root: B256, key: B256) -> Result<Option<Vec<u8>>, TrieError> {
        if root == EMPTY_ROOT_HASH {
            return Ok(None);
        }
        let path = Nibbles::unpack(key);
        let mut at = 0;
        let mut link = RlpNode::word_rlp(&root);
        loop {
            let next = match &*self.resolve(&link)? {
                TrieNode::EmptyRoot => return Ok(None),
                TrieNode::Leaf(leaf) => return Ok((leaf.key == path.slice(at..)).then(|| leaf.value.clone())),
                TrieNode::Extension(extension) => {
                    if !path.slice(at..).starts_with(&extension.key) {
                        return Ok(None);
                    }
                    at += extension.key.len();
                    extension.child.clone()
                }
                TrieNode::Branch(branch) => {
                    let nibble = path.get(at).ok_or_else(too_deep)?;
                    at += 1;
                    match branch.as_ref().children().find(|(index, _)| *index == nibble) {
                        Some((_, Some(child))) => child.clone(),
                        _ => return Ok(None),
                    }
                }
            };
            link = next;
        }
    }
}

fn too_deep() -> TrieError {
    TrieError::Malformed("a branch lies below the end of the key".into())
}

/// A place in a trie: nothing, a node that was not looked at, or one that was.
#[derive(Debug, Default)]
enum Link {
    #[default]
    Empty,
    Stored(RlpNode),
    Node(Box<Node>),
}

#[derive(Debug)]
enum Node {
    Leaf { key: Nibbles, value: Vec<u8> },
    Extension { key: Nibbles, child: Link },
    Branch(Box<[Link; 16]>),
}

/// A trie that changes: nodes are read when a change needs them.
pub struct Trie<'a> {
    nodes: &'a Nodes,
    root: Link,
}

impl<'a> Trie<'a> {
    pub fn open(nodes: &'a Nodes, root: B256) -> Self {
        let root = if root == EMPTY_ROOT_HASH { Link::Empty } else { Link::Stored(RlpNode::word_rlp(&root)) };
        Self { nodes, root }
    }

    pub fn insert(&mut self, key: B256, value: Vec<u8>) -> Result<(), TrieError> {
        insert(self.nodes, &mut self.root, Nibbles::unpack(key), value)
    }

    /// Remove a key. Where a branch is left with one child, that child must be known: the two become one node.
    pub fn remove(&mut self, key: B256) -> Result<(), TrieError> {
        remove(self.nodes, &mut self.root, Nibbles::unpack(key))
    }

    pub fn root(&self) -> B256 {
        match &self.root {
            Link::Empty => EMPTY_ROOT_HASH,
            Link::Stored(link) => link.as_hash().unwrap_or_else(|| keccak256(link)),
            // A root is hashed even if it is short.
            Link::Node(node) => keccak256(node.encode()),
        }
    }
}

impl Link {
    fn node(node: Node) -> Self {
        Self::Node(Box::new(node))
    }

    /// An extension over a link, or the link itself if there is nothing to extend by.
    fn extended(key: Nibbles, child: Link) -> Self {
        if key.is_empty() { child } else { Self::node(Node::Extension { key, child }) }
    }

    /// Take the node out, read if need be; `None` where there is nothing.
    fn take(&mut self, nodes: &Nodes) -> Result<Option<Node>, TrieError> {
        if let Self::Stored(link) = self {
            *self = match &*nodes.resolve(link)? {
                TrieNode::EmptyRoot => Self::Empty,
                TrieNode::Leaf(leaf) => Self::node(Node::Leaf { key: leaf.key, value: leaf.value.clone() }),
                TrieNode::Extension(extension) => {
                    Self::node(Node::Extension { key: extension.key, child: Self::Stored(extension.child.clone()) })
                }
                TrieNode::Branch(branch) => {
                    let mut children = Box::<[Link; 16]>::default();
                    for (index, child) in branch.as_ref().children() {
                        if let Some(child) = child {
                            children[index as usize] = Self::Stored(child.clone());
                        }
                    }
                    Self::node(Node::Branch(children))
                }
            };
        }
        match std::mem::take(self) {
            Self::Node(node) => Ok(Some(*node)),
            _ => Ok(None),
        }
    }

    fn rlp(&self) -> RlpNode {
        match self {
            Self::Empty => RlpNode::default(),
            Self::Stored(link) => link.clone(),
            Self::Node(node) => RlpNode::from_rlp(&node.encode()),
        }
    }
}

impl Node {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        match self {
            Self::Leaf { key, value } => LeafNodeRef::new(key, value).rlp(&mut out),
            Self::Extension { key, child } => ExtensionNodeRef::new(key, &child.rlp()).rlp(&mut out),
            Self::Branch(children) => {
                let mut mask = TrieMask::default();
                let mut stack = Vec::with_capacity(16);
                for (index, child) in children.iter().enumerate() {
                    if !matches!(child, Link::Empty) {
                        mask.set_bit(index as u8);
                        stack.push(child.rlp());
                    }
                }
                BranchNodeRef::new(&stack, mask).rlp(&mut out)
            }
        };
        out
    }
}

fn insert(nodes: &Nodes, link: &mut Link, key: Nibbles, value: Vec<u8>) -> Result<(), TrieError> {
    *link = match link.take(nodes)? {
        None => Link::node(Node::Leaf { key, value }),
        Some(Node::Leaf { key: old, .. }) if old == key => Link::node(Node::Leaf { key, value }),
        Some(Node::Leaf { key: old, value: kept }) => {
            let shared = old.common_prefix_length(&key);
            let mut children = Box::<[Link; 16]>::default();
            let (at, rest) = fork(&old, shared)?;
            children[at] = Link::node(Node::Leaf { key: rest, value: kept });
            let (at, rest) = fork(&key, shared)?;
            children[at] = Link::node(Node::Leaf { key: rest, value });
            Link::extended(key.slice(..shared), Link::node(Node::Branch(children)))
        }
        Some(Node::Extension { key: old, mut child }) => {
            let shared = old.common_prefix_length(&key);
            if shared == old.len() {
                insert(nodes, &mut child, key.slice(shared..), value)?;
                Link::node(Node::Extension { key: old, child })
            } else {
                let mut children = Box::<[Link; 16]>::default();
                let (at, rest) = fork(&old, shared)?;
                children[at] = Link::extended(rest, child);
                let (at, rest) = fork(&key, shared)?;
                children[at] = Link::node(Node::Leaf { key: rest, value });
                Link::extended(key.slice(..shared), Link::node(Node::Branch(children)))
            }
        }
        Some(Node::Branch(mut children)) => {
            let (at, rest) = fork(&key, 0)?;
            insert(nodes, &mut children[at], rest, value)?;
            Link::node(Node::Branch(children))
        }
    };
    Ok(())
}

/// The nibble at which a key leaves a shared prefix, and what follows it.
fn fork(key: &Nibbles, shared: usize) -> Result<(usize, Nibbles), TrieError> {
    let nibble = key.get(shared).ok_or_else(too_deep)?;
    Ok((nibble as usize, key.slice(shared + 1..)))
}

fn remove(nodes: &Nodes, link: &mut Link, key: Nibbles) -> Result<(), TrieError> {
    *link = match link.take(nodes)? {
        None => Link::Empty,
        Some(Node::Leaf { key: old, .. }) if old == key => Link::Empty,
        Some(leaf @ Node::Leaf { .. }) => Link::node(leaf),
        Some(Node::Extension { key: old, mut child }) => {
            if key.starts_with(&old) {
                remove(nodes, &mut child, key.slice(old.len()..))?;
                joined(nodes, old, child)?
            } else {
                Link::node(Node::Extension { key: old, child })
            }
        }
        Some(Node::Branch(mut children)) => {
            let (at, rest) = fork(&key, 0)?;
            remove(nodes, &mut children[at], rest)?;
            let mut left = (0..16).filter(|index| !matches!(children[*index], Link::Empty));
            match (left.next(), left.next()) {
                (Some(only), None) => {
                    let child = std::mem::take(&mut children[only]);
                    joined(nodes, Nibbles::from_nibbles_unchecked([only as u8]), child)?
                }
                _ => Link::node(Node::Branch(children)),
            }
        }
    };
    Ok(())
}

/// A path over a child as one node: paths of leaves and extensions grow, a branch gets an extension.
fn joined(nodes: &Nodes, key: Nibbles, mut child: Link) -> Result<Link, TrieError> {
    Ok(match child.take(nodes)? {
        None => Link::Empty,
        Some(Node::Leaf { key: rest, value }) => Link::node(Node::Leaf { key: key.join(&rest), value }),
        Some(Node::Extension { key: rest, child }) => Link::extended(key.join(&rest), child),
        Some(branch @ Node::Branch(_)) => Link::node(Node::Extension { key, child: Link::node(branch) }),
    })
}

#[cfg(test)]
mod tests;
