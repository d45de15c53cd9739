import type { Oidc } from '@fairlead/contracts';
import { mirrorPaths } from '@fairlead/contracts';
import { localMirror } from '@fairlead/mirror';
import { AUTHENTICATION_FILE, authenticationConfig, renderStep } from '@fairlead/node-scripts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { usersBinding } from '../../apps/bootstrap-svc/src/authentication/users.manifests.js';
import { TestHost } from '../../libs/node-scripts/src/steps/host.fixtures.js';
import { askNodes, startIssuer, type Issuer } from '../system/issuer.js';
import { eventually } from './kubectl.js';
import { startControlPlane, type ControlPlane } from './control.plane.js';

const VERSION = process.env['FAIRLEAD_REAL_VERSION'] ?? 'v1.34.4';
const ADDRESS = '198.18.7.11';
const SERVER = `https://${ADDRESS}:6443`;
const TIMEOUT_MS = 240_000;
const member = { preferred_username: 'alice', groups: ['/kube-demo'], team: 'us' };

/** A real kube-apiserver and the real step script on a folder that simulates its host. */
describe(`a real kube-apiserver of ${VERSION} lets users of an identity provider in`, () => {
  const host = new TestHost();
  let controlPlane: ControlPlane;
  let [former, latter]: Issuer[] = [];

  const oidcOf = ({ url, ca }: Pick<Issuer, 'url' | 'ca'>): Oidc => ({
    issuerUrl: url,
    clientId: 'kubernetes',
    usernameClaim: 'preferred_username',
    usernamePrefix: 'oidc:',
    groupsClaim: 'groups',
    groupsPrefix: 'oidc:',
    requiredClaims: { team: 'us' },
    ca,
  });
  const stepOf = (oidc: Oidc | undefined): string =>
    renderStep('authentication', { address: ADDRESS, content: authenticationConfig(oidc) }).script;
  const asked = async (issuer: Issuer | undefined, claims: object, validForS?: number): Promise<number> =>
    askNodes(SERVER, controlPlane.authority.pair.certPem, (await issuer?.token({ ...claims }, validForS)) ?? '');

  beforeAll(async () => {
    execFileSync('ip', ['address', 'replace', `${ADDRESS}/32`, 'dev', 'lo']);
    [former, latter] = await Promise.all([startIssuer({ host: ADDRESS }), startIssuer({ host: ADDRESS })]);
    const kubectl = join(localMirror(process.env), mirrorPaths.binary(VERSION, 'kubectl'));
    host.standIn('kubectl', `exec ${kubectl} "$@"`);
    host.write(AUTHENTICATION_FILE, authenticationConfig(undefined));
    const flags = [`--authentication-config=${join(host.root, AUTHENTICATION_FILE)}`];
    controlPlane = await startControlPlane(VERSION, [ADDRESS], flags);
    host.write('/etc/kubernetes/admin.conf', controlPlane.kubeconfig);
    const binding = usersBinding({ clusterRole: 'cluster-admin', groups: ['/kube-demo'] }, { groupsPrefix: 'oidc:' });
    host.write('/binding.json', JSON.stringify(binding));
    const at = ['--kubeconfig', join(host.root, 'etc/kubernetes/admin.conf')];
    execFileSync(kubectl, [...at, 'apply', '-f', join(host.root, 'binding.json')]);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await controlPlane?.stop();
    await former?.stop();
    await latter?.stop();
    host.remove();
  }, 60_000);

  it(
    'only once its file allows it, which it reads without a restart [azimuth 6]',
    async () => {
      expect(await asked(former, member)).toBe(401);
      expect(await host.run(stepOf(oidcOf(former!)))).toMatchObject({ code: 0, result: { changed: true } });
      expect(await asked(former, member)).toBe(200);
      expect(await asked(former, { ...member, groups: ['/others'] })).toBe(403);
      expect(await asked(former, { ...member, team: 'them' })).toBe(401);
      expect(await asked(former, member, -120)).toBe(401);
      expect(await asked(latter, member)).toBe(401);
      expect(await host.run(stepOf(oidcOf(former!)))).toMatchObject({ code: 0, result: { changed: false } });
    },
    TIMEOUT_MS,
  );

  it(
    'of the former provider while the new one does not answer, and of the new one when it does',
    async () => {
      const silent = oidcOf({ url: `https://${ADDRESS}:1/realm`, ca: latter!.ca });
      const { code, stderr } = await host.run(stepOf(silent).replace('-lt 150', '-lt 20'));
      expect([code, stderr]).toEqual([1, expect.stringContaining('it must reach the issuer')]);
      expect(await asked(former, member)).toBe(200);
      expect(await host.run(stepOf(oidcOf(latter!)))).toMatchObject({ code: 0, result: { changed: true } });
      expect([await asked(latter, member), await asked(former, member)]).toEqual([200, 401]);
      expect(await host.run(stepOf(undefined))).toMatchObject({ code: 0, result: { changed: true } });
      // An API server caches an accepted token for ten seconds.
      await eventually(
        'nobody is let in',
        () => asked(latter, member),
        (status) => status === 401,
        30_000,
      );
    },
    TIMEOUT_MS,
  );
});
