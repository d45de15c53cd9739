import { removeFolder } from '@fairlead/testing';
import { check, describeWith } from '@fairlead/testing/programs';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:https';
import { CA_REF, CREDENTIAL_REF, ipmiSimulator, sushyEmulator } from './emulators.fixtures.js';
import { describePower, hostWith, switchFor } from './power.features.js';
import { RedfishStandIn, selfSigned, type Answer } from './redfish.fixtures.js';

const settingsOf = ({ url, certificate }: RedfishStandIn) => ({
  redfish: { url, credentialRef: CREDENTIAL_REF, fingerprint: certificate.fingerprint },
});

describePower("a stand-in that follows Redfish's published schema", async () => {
  const standIn = await new RedfishStandIn().start();
  return {
    power: settingsOf(standIn),
    secrets: new Map([[CREDENTIAL_REF, standIn.login]]),
    stop: () => standIn.stop(),
  };
});

describePower('the emulator of sushy-tools', sushyEmulator, describeWith('sushy-emulator', 'openssl'));

describePower('the simulator of OpenIPMI', ipmiSimulator, describeWith('ipmi_sim', 'ipmitool'));

describeWith('ipmi_sim', 'ipmitool')('the password of an IPMI controller', () => {
  it('is never an argument of a process', async () => {
    const simulator = await ipmiSimulator();
    try {
      const asking = switchFor(simulator.secrets).act(hostWith(simulator.power), 'cycle', AbortSignal.timeout(30_000));
      const seen: string[] = [];
      let isOver = false;
      const watch = async (): Promise<void> => {
        while (!isOver) {
          seen.push(...check('ps', ['-eo', 'args']).lines.filter((line) => line.startsWith('ipmitool')));
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const watching = watch();
      await asking.finally(() => {
        isOver = true;
      });
      await watching;
      expect(seen.length).toBeGreaterThan(0);
      expect(seen.join('\n')).not.toContain('open-sesame');
      expect(simulator.isOn()).toBe(true);
    } finally {
      await simulator.stop();
    }
  });
});

describeWith('openssl')('a management controller with Redfish', () => {
  let standIn: RedfishStandIn;
  const secrets = new Map<string, string>();
  const act = (
    action: 'on' | 'off' | 'cycle' | 'status' = 'status',
    redfish: Record<string, unknown> = {},
    limits = { timeoutMs: 1_000, changeMs: 2_000, pollMs: 20 },
  ) => {
    const settings = { ...settingsOf(standIn).redfish, ...redfish };
    return switchFor(secrets, limits).act(hostWith({ redfish: settings }), action, AbortSignal.timeout(20_000));
  };

  beforeAll(async () => {
    standIn = await new RedfishStandIn().start();
  });
  afterAll(() => standIn.stop());
  beforeEach(() => {
    standIn.power = 'On';
    standIn.allowed = ['On', 'ForceOff'];
    standIn.answers.clear();
    standIn.asked.length = 0;
    secrets.clear();
    secrets.set(CREDENTIAL_REF, standIn.login).set(CA_REF, standIn.certificate.cert);
  });

  it('is trusted by its fingerprint, or by its CA, and gets no password otherwise', async () => {
    expect(await act()).toBe('on');
    expect(await act('status', { fingerprint: undefined, caRef: CA_REF })).toBe('on');
    standIn.asked.length = 0;
    const others = selfSigned();
    const { fingerprint } = others;
    removeFolder(others.folder);
    await expect(act('status', { fingerprint })).rejects.toThrow('another certificate than the pinned one');
    await expect(act('status', { fingerprint: undefined })).rejects.toThrow('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(standIn.asked).toEqual([]);
  });

  it('is asked for its only system, or for the one that the inventory names', async () => {
    await act('status', { system: standIn.systemId });
    expect(standIn.asked).toEqual([`GET ${standIn.path}`]);
    await expect(act('status', { system: 'blade-2' })).rejects.toThrow('it has no system blade-2');
    const many = { Members: [{ '@odata.id': standIn.path }, { '@odata.id': '/redfish/v1/Systems/2' }] };
    standIn.answers.set('/redfish/v1/Systems', (_, response) => response.end(JSON.stringify(many)));
    await expect(act()).rejects.toThrow('it has 2 systems; name one with power.redfish.system');
  });

  it('is switched by the first reset that it allows', async () => {
    standIn.allowed = undefined;
    expect(await act('off')).toBe('off');
    expect(standIn.asked).toContain(`POST ${standIn.path}/Actions/ComputerSystem.Reset {"ResetType":"ForceOff"}`);
    standIn.allowed = ['GracefulShutdown'];
    await expect(act('on')).rejects.toThrow('does not allow a reset of type On');
  });

  it('whose host stays off is reported after a limit', async () => {
    standIn.power = 'Off';
    standIn.answers.set(`${standIn.path}/Actions/ComputerSystem.Reset`, (_, response) => response.writeHead(204).end());
    await expect(act('on', {}, { timeoutMs: 1_000, changeMs: 100, pollMs: 20 })).rejects.toThrow(
      'still not on after 0.1 s',
    );
  });

  const redirects: Answer = (_, response) => response.writeHead(307, { location: 'https://198.51.100.1/' }).end();
  const endless: Answer = (_, response) => {
    const more = (): boolean => response.write('x'.repeat(65_536));
    response.on('drain', more);
    while (more());
  };
  const elsewhere = {
    PowerState: 'On',
    Actions: { '#ComputerSystem.Reset': { target: 'https://198.51.100.1/reset' } },
  };
  const climbing = { PowerState: 'On', Actions: { '#ComputerSystem.Reset': { target: '/redfish/v1/../../etc' } } };
  it.each<[string, Answer, RegExp]>([
    ['redirects', redirects, /answers with something else than Redfish/],
    ['answers without end', endless, /the answer is too long/],
    ['does not answer', () => undefined, /no answer within 1 s/],
    ['answers with a page', (_, response) => response.end('<html>'), /something else than Redfish/],
    [
      'names another server for its reset',
      (_, response) => response.end(JSON.stringify(elsewhere)),
      /an address elsewhere/,
    ],
    ['names a path outside', (_, response) => response.end(JSON.stringify(climbing)), /an address elsewhere/],
    [
      'fails',
      (_, response) => response.writeHead(500).end('{"error":{"message":"open-sesame is wrong"}}'),
      /answers 500: \*\*\* is wrong/,
    ],
  ])('that %s is reported, and its password goes nowhere else', async (_name, answer, words) => {
    standIn.answers.set(standIn.path, answer);
    const failure = await act('off').catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'ExternalFailure', message: expect.stringMatching(words) });
    expect(String(failure)).not.toMatch(/open-sesame|127\.0\.0\.1/);
  });

  it.each(['admin', ':secret', 'ad\nmin:secret'])('is not signed in with a secret like %j', async (secret) => {
    secrets.set(CREDENTIAL_REF, secret);
    await expect(act()).rejects.toThrow(`the secret ${CREDENTIAL_REF} is not user:password`);
  });

  it('of another host behind the same address is not asked', async () => {
    const impostor = selfSigned();
    const server: Server = createServer({ key: impostor.key, cert: impostor.cert });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const asked: unknown[] = [];
    server.on('request', (request) => asked.push(request));
    const { port } = server.address() as { port: number };
    await expect(act('cycle', { url: `https://127.0.0.1:${port}` })).rejects.toThrow('pinned');
    await new Promise((resolve) => server.close(resolve));
    removeFolder(impostor.folder);
    expect(asked).toEqual([]);
  });
});
