import { cacheFolder, freePorts, LOOPBACK, Supervisor } from '@fairlead/embedded';
import { runCommand } from '@fairlead/embedded/process';
import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { askOver, realmIssuer, type TestIssuer } from '@fairlead/lab/testing/issuer';
import { newFolder, removeFolder } from '@fairlead/testing';
import type { TestRealm } from '../../apps/infra-svc/src/adapters/keycloak/keycloak.provider.features.js';
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** As tools/keycloak/fetch.sh has it. */
const VERSION = '26.0.7';
const JAVA_MIN = 17;
const REALM = 'company';
const LAB = 'lab';
const MASTER = 'master';
/** The client of Fairlead for clusters, and its roles. */
const CLIENT = 'fairlead';
const MANAGES = ['manage-clients', 'manage-users', 'query-groups'];

const MINUTE_MS = 60_000;
const QUESTION_MS = MINUTE_MS;
const START_MS = 10 * MINUTE_MS;

/** A small heap and a quick start. */
const JAVA = {
  JAVA: 'java',
  JAVA_OPTS: '-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms64m -Xmx512m -XX:MaxMetaspaceSize=256m',
};

/** Keycloak itself, unpacked and prepared for a database in memory. */
export interface Keycloak {
  readonly home: string;
}

/** In the cache. Resolves to the reason if it cannot run here: stories have no network, so it is fetched before. */
export const findKeycloak = async (): Promise<Keycloak | { readonly reason: string }> => {
  const java = await runCommand('java', ['-version'], { timeoutMs: QUESTION_MS });
  const major = Number(/version "(\d+)/.exec(java.stderr)?.[1] ?? 0);
  if (major < JAVA_MIN) return { reason: `there is no Java ${JAVA_MIN} or newer on this machine` };
  const home = join(cacheFolder(process.env, '.fairlead'), `keycloak-${VERSION}`);
  return existsSync(home) ? { home } : { reason: `there is no ${home}; "npm run e2e:real -- keycloak" fetches it` };
};

interface Running {
  readonly url: string;
  readonly ca: string;
  adminToken(): Promise<string>;
  stop(): Promise<void>;
}

/** A realm of a Keycloak of its own, set up for users of Fairlead. */
export const startKeycloak = async (keycloak: Keycloak): Promise<TestIssuer> => {
  const { url, ca, adminToken, stop } = await runKeycloak(keycloak);
  try {
    await createRealm({ url, ca, adminToken }, REALM);
    return await realmIssuer({ issuerUrl: `${url}/realms/${REALM}`, ca, stop }, adminToken);
  } catch (error) {
    await stop();
    throw error;
  }
};

/** What Fairlead needs for clusters: a client that manages a realm, and one of the realm master that creates others. */
export const startKeycloakForClusters = async (keycloak: Keycloak): Promise<TestRealm> => {
  const running = await runKeycloak(keycloak);
  const { url, ca, stop } = running;
  try {
    const clientSecret = randomUUID();
    await createRealm(running, LAB);
    const management = await clientIdOf(running, LAB, 'realm-management');
    const roles = await Promise.all(
      MANAGES.map((role) => admin(running, `${LAB}/clients/${management}/roles/${role}`)),
    );
    const manager = await createServiceAccount(running, LAB, clientSecret);
    await admin(running, `${LAB}/users/${manager}/role-mappings/clients/${management}`, 'POST', roles);
    const creator = await createServiceAccount(running, MASTER, clientSecret);
    const creates = await admin(running, `${MASTER}/roles/create-realm`);
    await admin(running, `${MASTER}/users/${creator}/role-mappings/realm`, 'POST', [creates]);
    return { issuerUrl: `${url}/realms/${LAB}`, ca, clientId: CLIENT, clientSecret, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

/** Keycloak on the loopback address. */
const runKeycloak = async ({ home }: Keycloak): Promise<Running> => {
  const folder = newFolder('keycloak');
  const supervisor = new Supervisor({ dataDir: folder, runName: 'keycloak' });
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    removeFolder(folder);
  };
  try {
    const [port = 0] = await freePorts(folder, 1);
    const url = `https://${LOOPBACK}:${port}`;
    const authority = await CertificateAuthority.create(Date.now());
    const ca = authority.pair.certPem;
    const { certPem, keyPem } = await authority.issue(
      { commonName: 'keycloak', usage: 'server', sans: [LOOPBACK] },
      Date.now(),
    );
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(certFile, certPem);
    writeFileSync(keyFile, keyPem, { mode: 0o600 });
    const administrator = { username: 'admin', password: randomUUID() };
    await supervisor.start({
      name: 'keycloak',
      command: join(home, 'bin/kc.sh'),
      args: [
        ...[
          'start',
          '--optimized',
          '--cache=local',
          `--hostname=${url}`,
          `--http-host=${LOOPBACK}`,
          `--https-port=${port}`,
        ],
        ...[`--https-certificate-file=${certFile}`, `--https-certificate-key-file=${keyFile}`],
      ],
      env: {
        ...process.env,
        ...JAVA,
        KC_BOOTSTRAP_ADMIN_USERNAME: administrator.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: administrator.password,
      },
      ready: (line) => line.includes('Listening on:'),
      readyTimeoutMs: START_MS,
    });
    return { url, ca, stop, adminToken: () => adminTokenAt(url, ca, administrator) };
  } catch (error) {
    await stop();
    throw error;
  }
};

const adminTokenAt = async (
  url: string,
  ca: string,
  administrator: { readonly username: string; readonly password: string },
): Promise<string> => {
  const form = { grant_type: 'password', client_id: 'admin-cli', ...administrator };
  const answer = await askOver(ca, `${url}/realms/master/protocol/openid-connect/token`, { method: 'POST', form });
  if (answer.status !== 200) throw new Error(`no token of the administrator: ${answer.status} ${answer.text}`);
  return (JSON.parse(answer.text) as { readonly access_token: string }).access_token;
};

const createRealm = (running: Omit<Running, 'stop'>, realm: string): Promise<unknown> =>
  admin(running, '', 'POST', { realm, enabled: true });

/** Returns the id of the user of its service account. */
const createServiceAccount = async (running: Running, realm: string, secret: string): Promise<string> => {
  const client = { clientId: CLIENT, secret, publicClient: false, serviceAccountsEnabled: true };
  await admin(running, `${realm}/clients`, 'POST', { ...client, standardFlowEnabled: false });
  const id = await clientIdOf(running, realm, CLIENT);
  return (await admin<{ readonly id: string }>(running, `${realm}/clients/${id}/service-account-user`)).id;
};

const clientIdOf = async (running: Running, realm: string, clientId: string): Promise<string> => {
  const [client] = await admin<readonly { readonly id: string }[]>(running, `${realm}/clients?clientId=${clientId}`);
  if (client === undefined) throw new Error(`the realm ${realm} has no client ${clientId}`);
  return client.id;
};

const admin = async <Body>(
  { url, ca, adminToken }: Omit<Running, 'stop'>,
  path: string,
  method = 'GET',
  json?: unknown,
): Promise<Body> => {
  const headers = { authorization: `Bearer ${await adminToken()}` };
  const sent = { method, headers, ...(json === undefined ? {} : { json }) };
  const answer = await askOver(ca, `${url}/admin/realms${path === '' ? '' : `/${path}`}`, sent);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return (answer.text === '' ? undefined : JSON.parse(answer.text)) as Body;
};
