//! Waits until the kernel has activated the devices of all links, so that they carry packets.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail};

use super::Network;
use crate::netlink::route;

/// The time between two checks of the devices. The kernel activates devices in batches, one second apart.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The maximum number of checks whether devices are active: networks have at most a few thousand devices, and the
/// kernel activates a hundred per second.
const CHECKS_MAX: usize = 1_200;

impl Network {
    /// Waits until every device with a carrier is active, and returns whether it had to wait.
    ///
    /// The kernel activates devices after their carrier is on, at most 100 of them at once (`MAX_DO_DEV_PER_LOOP` in
    /// net/core/link_watch.c); it drops packets that are sent through a device before that.
    ///
    /// # Errors
    /// A device is still inactive after two minutes.
    pub fn await_active_links(&mut self) -> Result<bool> {
        let mut waiting = self.ends.clone();
        for check in 0..CHECKS_MAX {
            let mut inactive = Vec::new();
            for device in waiting {
                if route::is_not_active_yet(&self.ask(device, route::ask_link(device.index))?) {
                    inactive.push(device);
                }
            }
            if inactive.is_empty() {
                return Ok(check > 0);
            }
            waiting = inactive;
            sleep(CHECK_INTERVAL);
        }
        bail!("the kernel has not activated {} of the network's devices, such as {:?}", waiting.len(), waiting[0]);
    }
}
