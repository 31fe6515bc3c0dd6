//! Trees of rules as JSON: a node is a box of memories with an action, or with children.

use serde::{Deserialize, Serialize};

use super::error::{JsonError, TreeError};
use super::tree::{Action, DEEPEST, Domain, Node, Tree};

/// A file: a tree, and what it is. Whatever else is said of it is for people.
#[derive(Serialize, Deserialize)]
struct File {
    tree: Branch,
}

/// A node with all below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Branch {
    lower: [f64; 4],
    upper: [f64; 4],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<Branch>,
}

impl Tree {
    /// Reads the key `tree` of an object.
    pub fn from_json(bytes: &[u8]) -> Result<Self, TreeError> {
        let file: File = serde_json::from_slice(bytes).map_err(|error| JsonError(error.to_string()))?;
        let mut tree = Self { nodes: Vec::new(), actions: Vec::new() };
        tree.add(&file.tree, 0)?;
        Ok(tree)
    }

    /// What stands under the key `tree`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!(self.branch(self.nodes.len() - 1, Domain::ALL))
    }

    fn add(&mut self, branch: &Branch, depth: usize) -> Result<(Domain, usize), TreeError> {
        if depth > DEEPEST {
            return Err(TreeError::Invalid("it is more than 64 levels deep"));
        }
        let domain = Domain { lower: branch.lower, upper: branch.upper }.check()?;
        let action = branch.action.map(Action::check).transpose()?;
        let children: Result<_, _> = branch.children.iter().map(|child| self.add(child, depth + 1)).collect();
        Ok((domain, self.push_node(action, children?)?))
    }

    fn branch(&self, node: usize, Domain { lower, upper }: Domain) -> Branch {
        let (action, children) = match &self.nodes[node] {
            Node::Leaf(action) => (Some(self.actions[*action]), Vec::new()),
            Node::Fork(children) => {
                (None, children.iter().map(|(domain, child)| self.branch(*child, *domain)).collect())
            }
        };
        Branch { lower, upper, action, children }
    }
}
