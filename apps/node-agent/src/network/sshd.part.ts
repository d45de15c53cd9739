import { NETWORK_PATHS, ExternalFailure, type DesiredNetwork, type NodeSshd } from '@fairlead/contracts';
import type { HostFiles } from '../files/files.ports.js';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, replaceFile, succeeds } from '../software/item.js';
import { Reverted, type NetworkPart } from './network.ports.js';

const MODE = 0o644;
const TIMEOUT_MS = 30_000;

/** Debian and Ubuntu call the service ssh. */
const SERVICES = ['ssh', 'sshd'] as const;

/** Required output of `sshd -T`; a file that is read earlier may override the options. */
const EFFECTIVE: Readonly<Record<string, string>> = {
  passwordauthentication: 'no',
  kbdinteractiveauthentication: 'no',
  permitemptypasswords: 'no',
};

/** OpenSSH options (sshd_config(5)). Fairlead itself connects with a key, and runs commands. */
export const sshdConfig = ({ tcpForwarding }: NodeSshd): string => `# Written by Fairlead: spec.sshd of the manifest.
PermitRootLogin prohibit-password
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitEmptyPasswords no
HostbasedAuthentication no
GSSAPIAuthentication no
MaxAuthTries 3
LoginGraceTime 30
PermitUserEnvironment no
X11Forwarding no
AllowAgentForwarding no
AllowStreamLocalForwarding no
PermitTunnel no
GatewayPorts no
AllowTcpForwarding ${tcpForwarding ? 'local' : 'no'}
KexAlgorithms sntrup761x25519-sha512@openssh.com,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp521,ecdh-sha2-nistp384,ecdh-sha2-nistp256,diffie-hellman-group16-sha512,diffie-hellman-group18-sha512
Ciphers chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr,aes192-ctr,aes128-ctr
MACs hmac-sha2-512-etm@openssh.com,hmac-sha2-256-etm@openssh.com
`;

export interface SshdOptions {
  readonly host: HostPort;
  readonly files: Pick<HostFiles, 'remove'>;
}

/**
 * A file that the SSH server includes. The server is reloaded, so connections stay open; a configuration that it
 * rejects is reverted before it takes effect.
 */
export class SshdPart implements NetworkPart {
  readonly part = 'sshd';

  constructor(private readonly options: SshdOptions) {}

  async apply({ sshd }: DesiredNetwork): Promise<void> {
    const { host } = this.options;
    const before = await host.readFile(NETWORK_PATHS.sshd);
    const text = sshd === undefined ? undefined : sshdConfig(sshd);
    if (text === before) return;
    await this.write(text);
    try {
      await this.sshd('-t');
      if (text !== undefined) await this.verify();
      await this.reload();
    } catch (error) {
      await this.write(before);
      await this.reload();
      if (error instanceof ExternalFailure) throw new Reverted(error.operation, error.message);
      throw error;
    }
  }

  private async write(text: string | undefined): Promise<void> {
    const { host, files } = this.options;
    if (text === undefined) await files.remove(NETWORK_PATHS.sshd);
    else await replaceFile(host, NETWORK_PATHS.sshd, text, MODE);
  }

  private sshd(flag: '-t' | '-T'): Promise<string> {
    return mustRun(this.options.host, 'sshd', [flag], TIMEOUT_MS);
  }

  private async reload(): Promise<void> {
    const { host } = this.options;
    for (const service of SERVICES)
      if (await succeeds(host, 'systemctl', ['cat', service])) {
        await mustRun(host, 'systemctl', ['reload', service], TIMEOUT_MS);
        return;
      }
    throw new ExternalFailure({
      operation: 'systemctl reload',
      target: 'host',
      message: `no service ${SERVICES.join(' or ')}`,
    });
  }

  private async verify(): Promise<void> {
    const shown = new Map(
      (await this.sshd('-T')).split('\n').map((line) => {
        const [name = '', ...value] = line.trim().split(' ');
        return [name, value.join(' ')] as const;
      }),
    );
    for (const [name, value] of Object.entries(EFFECTIVE)) {
      const effective = shown.get(name);
      if (effective === value) continue;
      throw new ExternalFailure({
        operation: 'sshd -T',
        target: 'host',
        message: `${name} is ${effective ?? 'not shown'}, desired ${value}: does /etc/ssh/sshd_config include sshd_config.d before it sets it?`,
      });
    }
  }
}
