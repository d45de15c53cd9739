import { eventuallyPasses, newFolder, removeFolder } from '@fairlead/testing';
import { describeInNetwork } from '@fairlead/testing/programs';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOST, servingCertificate } from '../../../../test/balancers/balanced.js';
import { API_PORT } from '../kubeadm/kubeadm.types.js';
import { apiClients, CUT_OFF, type RecordedRequest } from './api.clients.fixtures.js';
import { Machines } from './failover.fixtures.js';
import { haproxyConfig } from './haproxy.config.js';

const HOSTS = { cp1: '198.51.100.31', cp2: '198.51.100.32' } as const;
const FIRST_NUMBER = 11;
const NUMBERS = Object.keys(HOSTS).map((_name, at) => FIRST_NUMBER + at);
const BALANCED_PORT = 9_998;
/** Three checks, one second apart, each with a second for its connection. */
const OUT_AFTER_MS = 3 * (1_000 + 1_000);
/** TCP's timeout for an acknowledgement, plus the next probe. */
const UNACKNOWLEDGED_MS = 15_000 + 2_000;
const RELOADED_AFTER_MS = 2_000;
/** Tolerance for a busy machine. */
const MORE_MS = 3_000;
const CASE_LIMIT_MS = 120_000;

describeInNetwork('ip', 'haproxy')(
  'haproxy on a control plane of own hosts, when the host of an API server is gone',
  () => {
    let machines: Machines;
    let folder = '';
    let haproxy: ChildProcess;

    beforeEach(async () => {
      machines = new Machines();
      folder = newFolder('balancer-gone');
      const { cert, key } = await servingCertificate(Object.values(HOSTS));
      writeFileSync(join(folder, 'cert.pem'), cert);
      writeFileSync(join(folder, 'key.pem'), key);
      machines.add('lb', '198.51.100.20');
      for (const [at, [name, address]] of Object.entries(HOSTS).entries()) {
        machines.add(name, address);
        machines.start(name, process.execPath, apiServer(folder, FIRST_NUMBER + at));
      }
      const peers = Object.entries(HOSTS).map(([name, address]) => ({ name, address }));
      const file = join(folder, 'haproxy.cfg');
      const own = haproxyConfig({ ipv6: false, port: BALANCED_PORT }, peers);
      writeFileSync(file, own.replaceAll(/^ {2}((user|group) haproxy|stats socket .*)\n/gm, ''));
      haproxy = machines.start('lb', 'haproxy', ['-W', '-f', file]);
    }, CASE_LIMIT_MS);

    afterEach(async () => {
      await machines.remove();
      removeFolder(folder);
    }, CASE_LIMIT_MS);

    /** The results of clients that started before the host of the first API server dies. */
    const whileHostGoes = async (forMs: number, before: () => void | Promise<void> = () => undefined) => {
      const program = apiClients({ host: HOST, port: BALANCED_PORT, numbers: NUMBERS, folder, forMs });
      const child = machines.start('lb', process.execPath, program);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      await eventuallyPasses(() => expect(existsSync(join(folder, 'begun'))).toBe(true), {
        withinMs: CASE_LIMIT_MS / 2,
      });
      await before();
      machines.cutOff('cp1');
      const goneAt = Date.now();
      await ended;
      const seen = JSON.parse(readFileSync(join(folder, 'seen'), 'utf8')) as readonly RecordedRequest[];
      const cutOff = (kind: RecordedRequest['kind']): readonly number[] =>
        seen.filter((one) => one.kind === kind && one.said === CUT_OFF).map(({ at, ms }) => at + ms - goneAt);
      return { after: seen.filter(({ kind, at }) => kind === 'new' && at > goneAt), cutOff };
    };

    it(
      'loses no request over a new connection, and closes existing ones within six seconds',
      async () => {
        const { after, cutOff } = await whileHostGoes(2 * OUT_AFTER_MS);
        expect(after.filter(({ said }) => said !== `${NUMBERS[1]}`)).toEqual([]);
        expect(after.length).toBeGreaterThan(0);
        // Connections alternate between servers, so each kind has at least one to the dead host.
        for (const kind of ['kept', 'watch'] as const) {
          expect([kind, cutOff(kind).length > 0]).toEqual([kind, true]);
          expect(Math.max(...cutOff(kind))).toBeLessThan(OUT_AFTER_MS + MORE_MS);
        }
      },
      CASE_LIMIT_MS,
    );

    it(
      'closes connections from before a reload within 17 seconds, although the old process no longer checks servers',
      async () => {
        const { cutOff } = await whileHostGoes(2 * UNACKNOWLEDGED_MS, async () => {
          haproxy.kill('SIGUSR2');
          await sleep(RELOADED_AFTER_MS);
        });
        expect(cutOff('watch').length).toBeGreaterThan(0);
        expect(Math.max(...cutOff('watch'))).toBeLessThan(UNACKNOWLEDGED_MS + MORE_MS);
        // Later than a check would: TCP detected it.
        expect(Math.min(...cutOff('watch'))).toBeGreaterThan(OUT_AFTER_MS);
      },
      CASE_LIMIT_MS,
    );
  },
);

/** An API server that returns its number immediately, or nothing to a watch. */
const apiServer = (folder: string, number: number): readonly string[] => [
  '-e',
  `const { readFileSync } = require('node:fs');
   const [key, cert] = ['key', 'cert'].map((kind) => readFileSync('${folder}/' + kind + '.pem'));
   const answer = ({ url }, response) => url === '/watch' ? response.writeHead(200).write('{}') : response.end('${number}');
   require('node:https').createServer({ key, cert }, answer).listen(${API_PORT}, '0.0.0.0').keepAliveTimeout = 0;`,
];
