import type { HostProxy } from '@fairlead/contracts';
import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { containerdConfig, type RuntimeSettings } from './containerd.config.js';
import { proxyDropIn } from './host.proxy.js';
import { fileDifference, mustRun, replaceFile, type Item } from './item.js';
import type { PackageDriver } from './package.driver.js';
import { unitState } from './unit.state.js';

const ITEM = 'container-runtime';
const FILE = '/etc/containerd/config.toml';
const PROXY_FILE = '/etc/systemd/system/containerd.service.d/fairlead-proxy.conf';
const SERVICE = 'containerd';

/** capabilities(7): lowering an OOM score requires CAP_SYS_RESOURCE. */
const CAP_SYS_RESOURCE = 24n;

/** All processes of a host descend from process 1, so none can have a capability that is missing there. */
const lacksOomRight = async (host: HostPort): Promise<boolean> => {
  const bounding = /^CapBnd:\s*([0-9a-f]+)$/m.exec((await host.readFile('/proc/1/status')) ?? '')?.[1];
  return bounding !== undefined && (BigInt(`0x${bounding}`) & (1n << CAP_SYS_RESOURCE)) === 0n;
};

export interface ContainerdOptions extends Omit<RuntimeSettings, 'restrictOomScore'> {
  readonly host: HostPort;
  readonly packages: PackageDriver;
  /** The proxy for pulling images; undefined: none. */
  readonly proxy?: HostProxy | undefined;
}

/** The container runtime is configured, enabled and running. It is restarted only for a changed configuration. */
export const containerdItem = ({ host, packages, proxy, ...settings }: ContainerdOptions): Item => {
  const desired = async (): Promise<string> => {
    const version = (await packages.installed([SERVICE])).get(SERVICE)?.version ?? '';
    return containerdConfig(version, { ...settings, restrictOomScore: await lacksOomRight(host) });
  };

  return {
    name: ITEM,

    inspect: async () => {
      const differences: Difference[] = [...(await fileDifference(host, ITEM, FILE, await desired()))];
      const dropIn = proxyDropIn(proxy);
      // A former proxy is removed by an empty file.
      if (dropIn !== '' || (await host.exists(PROXY_FILE)))
        differences.push(...(await fileDifference(host, ITEM, PROXY_FILE, dropIn)));
      const { enabled, active } = await unitState(host, SERVICE);
      if (!enabled) differences.push({ item: ITEM, what: 'boot', observed: 'not enabled', desired: 'enabled' });
      if (!active) differences.push({ item: ITEM, what: 'service', observed: 'not running', desired: 'running' });
      return differences;
    },

    ensure: async (differences) => {
      const differs = (part: string): boolean => differences.some(({ what }) => what === part);
      if (differs(PROXY_FILE)) {
        await mustRun(host, 'systemctl', ['stop', SERVICE]);
        await replaceFile(host, PROXY_FILE, proxyDropIn(proxy), 0o644);
        await mustRun(host, 'systemctl', ['daemon-reload']);
      }
      if (differs(FILE)) {
        // Stopped first: a crash between the write and the restart would leave the old configuration running
        // undetected.
        await mustRun(host, 'systemctl', ['stop', SERVICE]);
        await replaceFile(host, FILE, await desired(), 0o644);
      }
      if (differs('boot')) await mustRun(host, 'systemctl', ['enable', SERVICE]);
      await mustRun(host, 'systemctl', ['start', SERVICE]);
    },
  };
};
