import { cacheFolder, freePorts, LOOPBACK, Supervisor } from '@fairlead/embedded';
import { lastWordsOf, runCommand } from '@fairlead/embedded/process';
import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { askOver, realmIssuer, type TestIssuer } from '@fairlead/lab/testing/issuer';
import { digestOfFile } from '@fairlead/mirror';
import { newFolder, removeFolder } from '@fairlead/testing';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The SHA-256 is that of the archive that Maven got on 2026-11-29, whose SHA-1 is that of the registry. */
const VERSION = '26.0.7';
const SHA256 = 'a6d770bbf55625781f1225a54a130839cdc1dd4ad5b3b4bbb18c9ac8bca8f8ae';
const ARTIFACT = `org.keycloak:keycloak-quarkus-dist:${VERSION}:tar.gz`;
const MAVEN_COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy';
/** The first error; the last lines of Maven say where to read more. */
const MAVEN_ERROR = /^\[ERROR\] (.{1,300})/m;
const JAVA_MIN = 17;
const REALM = 'company';

const MINUTE_MS = 60_000;
const QUESTION_MS = MINUTE_MS;
const DOWNLOAD_MS = 10 * MINUTE_MS;
const PREPARATION_MS = 10 * MINUTE_MS;
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

/** Fetched once, into the cache. Resolves to the reason if it cannot run here. */
export const findKeycloak = async (): Promise<Keycloak | { readonly reason: string }> => {
  const java = await runCommand('java', ['-version'], { timeoutMs: QUESTION_MS });
  const major = Number(/version "(\d+)/.exec(java.stderr)?.[1] ?? 0);
  if (major < JAVA_MIN) return { reason: `there is no Java ${JAVA_MIN} or newer on this machine` };
  const home = join(cacheFolder(process.env, '.fairlead'), `keycloak-${VERSION}`);
  if (existsSync(home)) return { home };
  const partial = `${home}.${process.pid}.partial`;
  mkdirSync(partial, { recursive: true });
  try {
    const reason = await provide(partial);
    if (reason !== undefined) return { reason };
    if (!existsSync(home)) renameSync(join(partial, `keycloak-${VERSION}`), home);
    return { home };
  } finally {
    rmSync(partial, { recursive: true });
  }
};

/** Resolves to the reason of a failure; to none on success. */
const provide = async (folder: string): Promise<string | undefined> => {
  const run = async (command: string, args: readonly string[], timeoutMs: number): Promise<string | undefined> => {
    const result = await runCommand(command, args, { timeoutMs, cwd: folder, env: { ...process.env, ...JAVA } });
    if (result.code === 0) return undefined;
    return `${command}: ${MAVEN_ERROR.exec(result.stdout)?.[1] ?? lastWordsOf(result)}`;
  };
  const repository = `-Dmaven.repo.local=${join(folder, 'repository')}`;
  const copy = ['-B', '-q', MAVEN_COPY, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${folder}`, repository];
  const missing = await run('mvn', copy, DOWNLOAD_MS);
  if (missing !== undefined) return missing;
  const archive = `keycloak-quarkus-dist-${VERSION}.tar.gz`;
  const { sha256 } = await digestOfFile(join(folder, archive));
  if (sha256 !== SHA256) return `${archive}: its SHA-256 is ${sha256}, not the pinned ${SHA256}`;
  return (
    (await run('tar', ['-xzf', archive], PREPARATION_MS)) ??
    (await run(`./keycloak-${VERSION}/bin/kc.sh`, ['build', '--db=dev-mem'], PREPARATION_MS))
  );
};

/** A realm of a Keycloak of its own, which listens on the loopback address, set up for Fairlead. */
export const startKeycloak = async ({ home }: Keycloak): Promise<TestIssuer> => {
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
    const adminToken = () => adminTokenAt(url, ca, administrator);
    await createRealm(url, ca, await adminToken());
    return await realmIssuer({ issuerUrl: `${url}/realms/${REALM}`, ca, stop }, adminToken);
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

const createRealm = async (url: string, ca: string, token: string): Promise<void> => {
  const headers = { authorization: `Bearer ${token}` };
  const json = { realm: REALM, enabled: true };
  const answer = await askOver(ca, `${url}/admin/realms`, { method: 'POST', headers, json });
  if (answer.status !== 201) throw new Error(`the realm was not created: ${answer.status} ${answer.text}`);
};
