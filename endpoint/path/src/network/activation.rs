//! Waits until the ends of all links carry packets.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail};

use super::Network;
use crate::netlink::route;

/// The time between two looks at the devices. The kernel activates the devices that it has not yet a second after
/// those before them.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The most looks: networks have at most a few thousand devices, of which a hundred are activated in a second.
const MOST_LOOKS: usize = 1_200;

impl Network {
    /// Waits until each end of a link that has a carrier is active, and returns whether it had to wait.
    ///
    /// The kernel activates devices after their carrier is on, at most 100 of them at once (`MAX_DO_DEV_PER_LOOP` in
    /// net/core/link_watch.c); what is sent by one that is not yet active is dropped.
    ///
    /// # Errors
    /// A device is still inactive after two minutes.
    pub fn await_active_links(&mut self) -> Result<bool> {
        let mut waiting = self.ends.clone();
        for look in 0..MOST_LOOKS {
            let mut inactive = Vec::new();
            for device in waiting {
                if route::is_not_active_yet(&self.ask(device, route::ask_link(device.index))?) {
                    inactive.push(device);
                }
            }
            if inactive.is_empty() {
                return Ok(look > 0);
            }
            waiting = inactive;
            sleep(BETWEEN_LOOKS);
        }
        bail!("the kernel has not activated {} of the network's devices, such as {:?}", waiting.len(), waiting[0]);
    }
}
