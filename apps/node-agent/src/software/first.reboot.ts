import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, replaceFile } from './item.js';

/** With which packages of Debian and Ubuntu ask for a reboot; it is gone after one. */
export const REBOOT_MARK = '/run/reboot-required';
/** The boot that was ended for it. */
export const FIRST_REBOOT = '/var/lib/fairlead/first-reboot';

const FILE_MODE = 0o600;
const COMMAND_TIMEOUT_MS = 60_000;
/** Until the host is down: then this process is, too. */
const REBOOT_LIMIT_MS = 5 * 60_000;

/** The reboot of a new host whose installation asks for one. It happens once, whatever the host asks for afterwards. */
export class FirstReboot {
  constructor(
    private readonly host: HostPort,
    private readonly sleep: (ms: number) => Promise<void>,
  ) {}

  /** Empty: the host does not ask for a reboot, or has been rebooted for it. */
  async inspect(): Promise<readonly Difference[]> {
    if (!(await this.host.exists(REBOOT_MARK))) return [];
    const rebooted = (await this.host.readFile(FIRST_REBOOT))?.trim();
    if (rebooted !== undefined && rebooted !== (await this.host.bootId())) return [];
    return [{ item: 'reboot', what: REBOOT_MARK, observed: 'a reboot is required', desired: 'no reboot is required' }];
  }

  /** Rejects if the host still runs after the limit, or if the agent stops, as it does when the host goes down. */
  async ensure(): Promise<void> {
    await replaceFile(this.host, FIRST_REBOOT, `${await this.host.bootId()}\n`, FILE_MODE);
    await mustRun(this.host, 'systemctl', ['reboot'], COMMAND_TIMEOUT_MS);
    await this.sleep(REBOOT_LIMIT_MS);
    throw new Error(`the host has not rebooted within ${REBOOT_LIMIT_MS / 60_000} minutes`);
  }
}
