import {
  mirrorPaths,
  parseCatalogue,
  parseSha256,
  releaseIn,
  WorldFailure,
  type MirrorCatalogue,
  type MirrorRelease,
} from '@fairlead/contracts';
import type { HostPort } from '../agent/agent.ports.js';
import type { HostFiles, SourceFiles } from '../files/files.ports.js';

/** A verified file that a command may read. */
export interface Readable {
  readonly path: string;
  /** Where it had to be brought here only to be read, it goes again. */
  release(): Promise<void>;
}

const CACHE_FOLDER = '/var/lib/fairlead/downloads';
const PRIVATE = 0o600;

/** Software in the layout of the official release site. Nothing of it takes effect before its SHA-256 was found right. */
export class Mirror {
  private known: Promise<MirrorCatalogue | undefined> | undefined;
  /** Files that were found right where they are, by what they were then. */
  private readonly verified = new Map<string, string>();

  constructor(
    private readonly source: SourceFiles,
    private readonly files: HostFiles,
    private readonly host: HostPort,
  ) {}

  /** undefined: a source without catalogue, as the official site. Read once, and again after something was not found. */
  catalogue(): Promise<MirrorCatalogue | undefined> {
    this.known ??= this.readCatalogue().catch((error: unknown) => {
      this.known = undefined;
      throw error;
    });
    return this.known;
  }

  /** The catalogue as it is now; what was known stays known while it cannot be read. */
  async look(): Promise<MirrorCatalogue | undefined> {
    const catalogue = await this.readCatalogue();
    this.known = Promise.resolve(catalogue);
    return catalogue;
  }

  /** undefined: a source without catalogue. A catalogue without this version is a failure. */
  async release(version: string): Promise<MirrorRelease | undefined> {
    const catalogue = await this.catalogue();
    if (catalogue === undefined) return undefined;
    const release = releaseIn(catalogue, version);
    if (release !== undefined) return release;
    this.known = undefined;
    const there = catalogue.releases.map((each) => each.version).join(', ') || 'no version at all';
    throw this.failure('read the mirror', mirrorPaths.catalogue, `it has no ${version}, only ${there}`);
  }

  /** Lower-case hex, as the catalogue says it, else as the file beside it does. */
  async sha256Of(path: string): Promise<string> {
    const listed = (await this.catalogue())?.files.find((file) => file.path === path)?.sha256;
    if (listed !== undefined) return listed;
    const beside = mirrorPaths.sha256(path);
    const text = await this.source.text(beside);
    if (text === undefined) throw this.failure('read', beside, 'there is no such file');
    const sha256 = parseSha256(text);
    if (sha256 === undefined) throw this.failure('read', beside, 'it holds no SHA-256');
    return sha256;
  }

  /** Brings the file to exactly this path of the host in one piece; nothing is there before it is verified. */
  async place(path: string, to: string, mode: number): Promise<void> {
    const sha256 = await this.sha256Of(path);
    if ((await this.files.stat(to)) !== undefined && (await this.files.sha256(to)) === sha256) return;
    const beside = `${to}.fairlead-new`;
    const found = await this.source.get(path, beside, mode);
    if (found !== sha256) {
      await this.files.remove(beside);
      throw this.mismatch(path, sha256, found);
    }
    await this.host.rename(beside, to);
  }

  /** The file for a command to read: where it lies, or downloaded. */
  async readable(path: string): Promise<Readable> {
    const place = this.source.inPlace(path);
    if (place !== undefined) {
      await this.verifyInPlace(path, place);
      return { path: this.files.at(place), release: () => Promise.resolve() };
    }
    const to = `${CACHE_FOLDER}/${path.replaceAll('/', '_')}`;
    await this.place(path, to, PRIVATE);
    return { path: this.files.at(to), release: () => this.files.remove(to) };
  }

  /** A folder of the mirror that the host can read where it lies, once this list in it is verified; undefined: it cannot. */
  async folder(path: string, list: string): Promise<string | undefined> {
    const place = this.source.inPlace(path);
    if (place === undefined) return undefined;
    await this.verifyInPlace(`${path}/${list}`, `${place}/${list}`);
    return this.files.at(place);
  }

  private async verifyInPlace(path: string, place: string): Promise<void> {
    const stat = await this.files.stat(place);
    if (stat === undefined) throw this.failure('read', path, 'there is no such file');
    if (this.verified.get(place) === stat.identity) return;
    const wanted = await this.sha256Of(path);
    const found = await this.files.sha256(place);
    if (found !== wanted) throw this.mismatch(path, wanted, found);
    this.verified.set(place, stat.identity);
  }

  private async readCatalogue(): Promise<MirrorCatalogue | undefined> {
    const text = await this.source.text(mirrorPaths.catalogue);
    return text === undefined ? undefined : parseCatalogue(text, this.source.address(mirrorPaths.catalogue));
  }

  /** A checksum may be the wrong one as well as the file: both are read anew the next time. */
  private mismatch(path: string, wanted: string, found: string): WorldFailure {
    this.known = undefined;
    return this.failure('verify', path, `its SHA-256 is ${found}, not ${wanted}`);
  }

  private failure(operation: string, path: string, message: string): WorldFailure {
    return new WorldFailure({ operation, target: this.source.address(path), message });
  }
}
