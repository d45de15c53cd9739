import { newFolder, removeFolder, eventually } from '@fairlead/testing';
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { selfSigned } from './redfish.fixtures.js';

/** A management controller that a program of others emulates. */
export interface Emulator {
  /** Of the inventory of its host. */
  readonly power: Record<string, unknown>;
  /** Secrets, by their references. */
  readonly secrets: ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

export const CREDENTIAL_REF = 'gateway.connection.site.bmc';
export const CA_REF = 'gateway.connection.site.bmc-ca';

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

const freeUdpPort = (): Promise<number> =>
  new Promise((resolve) => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1', () => {
      const { port } = socket.address();
      socket.close(() => resolve(port));
    });
  });

const started = (program: string, args: readonly string[], cwd: string): ChildProcess =>
  spawn(program, args, {
    cwd,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, HOME: cwd },
  });

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });

const answersAt = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** Of `open-sesame`, with few rounds. */
const BCRYPT_OF_PASSWORD = '$2b$04$CPteiQmh0J8Y1yu9K6L.uu83WU0gS0jj5QtFSNKUxb7BhzEB3m8Pi';

/** sushy-tools' emulator of Redfish, with its fake driver: each change of power takes it 1 to 11 seconds. */
export const sushyEmulator = async (): Promise<Emulator> => {
  const { folder, cert } = selfSigned();
  const at = (name: string): string => join(folder, name);
  const port = await freePort();
  writeFileSync(at('users'), `admin:${BCRYPT_OF_PASSWORD}\n`);
  const system = { uuid: '27946b59-9e44-4fa7-8e91-f3527a1ef094', name: 'rack-1', power_state: 'On', nics: [] };
  const config = { STATE_DIR: folder, AUTH_FILE: at('users'), FAKE_SYSTEMS: [system] };
  const lines = Object.entries(config).map(([name, value]) => `SUSHY_EMULATOR_${name} = ${JSON.stringify(value)}`);
  writeFileSync(at('config.py'), lines.join('\n'));
  const tls = ['--ssl-certificate', at('cert.pem'), '--ssl-key', at('key.pem')];
  const args = ['--fake', '--config', at('config.py'), '-i', '127.0.0.1', '-p', `${port}`, ...tls];
  const child = started('sushy-emulator', args, folder);
  await eventually(() => answersAt(port));
  return {
    power: { redfish: { url: `https://127.0.0.1:${port}`, credentialRef: CREDENTIAL_REF, caRef: CA_REF } },
    secrets: new Map([
      [CREDENTIAL_REF, 'admin:open-sesame\n'],
      [CA_REF, cert],
    ]),
    stop: async () => {
      await ended(child);
      removeFolder(folder);
    },
  };
};

const CONTROL = `#!/bin/sh
shift; op=$1; shift
while [ $# -gt 0 ]; do
  case $op-$1 in
    get-power) echo "power:$(cat "$(dirname "$0")/power")" ;;
    set-power) echo "$2" > "$(dirname "$0")/power"; shift ;;
    get-*) echo "$1:0" ;;
    *) shift ;;
  esac
  shift
done
`;

/** OpenIPMI's simulator of a management controller. It has no cipher suite 17. */
export const ipmiSimulator = async (): Promise<Emulator & { readonly isOn: () => boolean }> => {
  const folder = newFolder('ipmi');
  const at = (name: string): string => join(folder, name);
  const port = await freeUdpPort();
  writeFileSync(at('control'), CONTROL);
  chmodSync(at('control'), 0o755);
  writeFileSync(at('power'), '1\n');
  writeFileSync(
    at('lan.conf'),
    [
      ...['name "rack"', 'set_working_mc 0x20', '  startlan 1', `    addr 127.0.0.1 ${port}`, '    priv_limit admin'],
      ...['callback', 'user', 'operator', 'admin'].map((who) => `    allowed_auths_${who} none md2 md5 straight`),
      ...['    guid a123456789abcdefa123456789abcdef', '  endlan', `  chassis_control "${at('control')} 0x20"`],
      ...['  user 2 true "admin" "open-sesame" admin 10 none md2 md5 straight', ''],
    ].join('\n'),
  );
  const controller = 'mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr';
  writeFileSync(at('rack.emu'), `mc_setbmc 0x20\n${controller}\nmc_enable 0x20\n`);
  const child = started('ipmi_sim', ['-c', at('lan.conf'), '-f', at('rack.emu'), '-s', folder, '-n'], folder);
  return {
    isOn: () => readFileSync(at('power'), 'utf8').trim() === '1',
    power: { ipmi: { address: '127.0.0.1', port, cipherSuite: 3, credentialRef: CREDENTIAL_REF } },
    secrets: new Map([[CREDENTIAL_REF, 'admin:open-sesame']]),
    stop: async () => {
      await ended(child);
      removeFolder(folder);
    },
  };
};
