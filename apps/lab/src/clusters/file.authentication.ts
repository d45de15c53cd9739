import { parseYaml } from '@fairlead/parsers';
import type { HostFiles } from '../files/host.files.js';
import type { TokenAuthentication } from '../kubernetes/index.js';
import { IssuerKeys } from './issuer.keys.js';
import { MANIFESTS } from './static.pods.js';
import { AuthenticationFile, userOf, type Jwt, type TokenUser } from './token.identity.js';

const FLAG = /^[ \t]*- --authentication-config=(\S+)$/m;
const MS_PER_SECOND = 1_000;
const FILE_LENGTH_MAX = 262_144;

interface Authenticator {
  readonly jwt: Jwt;
  readonly keys: IssuerKeys;
}

const authenticatorsIn = (text: string): readonly Authenticator[] =>
  AuthenticationFile.parse(parseYaml(text, { lengthMax: FILE_LENGTH_MAX })).jwt.map((jwt) => ({
    jwt,
    keys: new IssuerKeys(jwt.issuer),
  }));

/**
 * Seconds since 1970. Timestamps of files have a finer resolution than this clock, so one millisecond is added: an
 * event after a write is never dated before it.
 */
const now = (): number => (Date.now() + 1) / MS_PER_SECOND;

/**
 * Simulates how an API server uses the file of --authentication-config: it starts only with a valid file, and reloads a
 * changed one while it runs if that is valid and its issuers respond. The simulation checks the file when a token is
 * presented or metrics are requested.
 */
export class FileAuthentication implements TokenAuthentication {
  private readonly startedAt = now();
  private reloadedAt = 0;
  private loading: Promise<void> = Promise.resolve();

  private constructor(
    private readonly files: HostFiles,
    private readonly path: string | undefined,
    private text: string | undefined,
    private authenticators: readonly Authenticator[],
  ) {}

  /**
   * Reads the flag from the manifest of the host's API server. Returns undefined if the file is unreadable or invalid,
   * which makes the API server exit.
   */
  static async start(files: HostFiles): Promise<FileAuthentication | undefined> {
    const manifest = (await files.readText(`${MANIFESTS}/kube-apiserver.yaml`)) ?? '';
    const path = FLAG.exec(manifest)?.[1];
    if (path === undefined) return new FileAuthentication(files, undefined, undefined, []);
    const text = await files.readText(path);
    try {
      return text === undefined ? undefined : new FileAuthentication(files, path, text, authenticatorsIn(text));
    } catch {
      return undefined;
    }
  }

  async identify(token: string): Promise<TokenUser | undefined> {
    await this.reloadChanged();
    for (const { jwt, keys } of this.authenticators) {
      const claims = await keys.claimsOf(token);
      if (claims !== undefined) return userOf(jwt, claims);
    }
    return undefined;
  }

  async metrics(): Promise<string> {
    await this.reloadChanged();
    const name = 'apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds';
    const reloaded =
      this.reloadedAt === 0 ? '' : `${name}{apiserver_id_hash="simulation",status="success"} ${this.reloadedAt}\n`;
    return `process_start_time_seconds ${this.startedAt}\n${reloaded}`;
  }

  /** Reloads run one after the other. */
  private reloadChanged(): Promise<void> {
    this.loading = this.loading.then(() => this.load());
    return this.loading;
  }

  private async load(): Promise<void> {
    const text = this.path === undefined ? undefined : await this.files.readText(this.path);
    if (text === undefined || text === this.text) return;
    try {
      const authenticators = authenticatorsIn(text);
      for (const { keys } of authenticators) await keys.load();
      this.authenticators = authenticators;
      this.text = text;
      this.reloadedAt = now();
    } catch {
      // Keeps the previous configuration and retries at the next check.
    }
  }
}
