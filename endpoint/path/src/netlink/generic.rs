//! The generic netlink controller, which finds other families by name (`include/uapi/linux/genetlink.h`).

use super::message::{Attributes, Request, attribute, u16_at};
use super::{NetlinkError, Socket};

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// Asks the kernel for a family's number. The error message names `option`, which builds the family into a kernel.
pub(super) fn ask_family(socket: &mut Socket, name: &str, option: &str) -> Result<u16, NetlinkError> {
    let attempt = format!("find the netlink family {name} ({option})");
    let named = Attributes::new().put_string(CTRL_ATTR_FAMILY_NAME, name);
    let request = Request::new(attempt.clone(), GENL_ID_CTRL, 0, &[CTRL_CMD_GETFAMILY, 1, 0, 0], &named);
    let answer = socket.ask(&request)?;
    let number = || u16_at(attribute(answer.get(4..)?, CTRL_ATTR_FAMILY_ID)?, 0);
    number().ok_or(NetlinkError::Incomplete { attempt, missing: "family number" })
}
