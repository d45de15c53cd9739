import {
  isOwnSecret,
  refuse,
  settingRefusal,
  SshSettings,
  sshSettingFaults,
  type Refusal,
  type SecretRef,
} from '@fairlead/contracts';
import type { HostShell } from '@fairlead/service-kit/ssh';
import type { ProviderKind } from '../../providers/provider.ports.js';
import type { SshKeys } from '../../resources/resources.ports.js';
import type { Stock, Trust } from '../../stock/stock.ports.js';
import type { PowerLimits } from '../power/management.controller.js';
import { PowerSwitch } from '../power/power.switch.js';
import { OwnHosts, PATIENCE, type OwnHostsLimits } from './own.hosts.js';
import { SshProvider } from './ssh.provider.js';

export interface SshWorld {
  readonly stock: Stock;
  readonly trust: Trust;
  readonly shell: HostShell;
  readonly sshKeys: SshKeys;
  readonly secret: (ref: SecretRef) => Promise<string | undefined>;
  readonly limits?: OwnHostsLimits;
  readonly powerLimits?: PowerLimits;
  readonly epoch?: () => number;
  /** RFC 3339: bookings begin and end by it. */
  readonly now?: () => string;
}

/** Your own hosts, accessed over SSH. */
export const sshKind = ({
  stock,
  trust,
  shell,
  sshKeys,
  secret: secretOf,
  limits = PATIENCE,
  powerLimits,
  epoch,
  now = () => new Date().toISOString(),
}: SshWorld): ProviderKind => ({
  name: 'ssh',
  open: (connection, secret) => {
    const wrong = (detail: string, field: string): Refusal =>
      refuse('connection.settings-invalid', { connection: connection.name, detail }, field);
    const [fault] = sshSettingFaults(connection.settings);
    if (fault !== undefined) return settingRefusal(connection.name, fault);
    const own = SshSettings.parse(connection.settings);
    if (secret === undefined) return wrong('it has no private key; give it as its secret', 'settings.secret');
    const publicKey = publicHalfOf(secret, connection.name, sshKeys);
    if (publicKey === undefined)
      return wrong('its secret is no private key that can be read (one with a passphrase cannot)', 'settings.secret');
    const { secretRef: keyRef } = connection;
    const at = { connection: connection.name, keyRef, ...(own.jump === undefined ? {} : { jump: own.jump }) };
    const keys = (ref: SecretRef): Promise<string | undefined> =>
      ref === keyRef
        ? Promise.resolve(secret)
        : isOwnSecret(connection.name, ref)
          ? secretOf(ref)
          : Promise.resolve(undefined);
    return new SshProvider(
      { ...connection, own, publicKey },
      new OwnHosts(at, { shell, keys, trust, stock, ...(epoch === undefined ? {} : { epoch }) }, limits),
      { stock, trust, now, power: new PowerSwitch({ keys, limits: powerLimits }) },
    );
  },
});

const publicHalfOf = (privateKey: string, comment: string, keys: SshKeys): string | undefined => {
  try {
    return keys.read(privateKey, comment).publicKey;
  } catch {
    return undefined; // The library's wording of the fault does not help users.
  }
};
