import {
  mirrorPaths,
  isOfficial,
  parseCatalogue,
  pinnedSha256,
  releaseIn,
  signatureOf,
  trustFault,
  usesCatalogue,
  ExternalFailure,
  type MirrorCatalogue,
  type MirrorRelease,
  type MirrorTrust,
} from '@fairlead/contracts';
import { catalogueFault } from '@fairlead/mirror/signatures';
import type { KnownReleases } from '../node/known.releases.js';
import type { HostPort } from '../node/host.ports.js';
import type { HostFiles, SourceFiles } from '../files/files.ports.js';

/** A verified file that a command may read. */
export interface Readable {
  readonly path: string;
  /** Removes a file that was downloaded only to be read. */
  release(): Promise<void>;
}

const CACHE_FOLDER = '/var/lib/fairlead/downloads';
const PRIVATE = 0o600;

/** A source of software, and how its contents are trusted. */
export interface TrustedSource {
  readonly location: string;
  readonly trust: MirrorTrust;
  readonly files: SourceFiles;
}

/**
 * Software in the layout of the official release site. No file is used before its SHA-256 is verified, and a SHA-256
 * from the location of the file itself is never trusted.
 */
export class Mirror {
  private loaded: Promise<MirrorCatalogue | undefined> | undefined;
  /** Verified files of the host: their identity at that time, and their SHA-256. */
  private readonly verified = new Map<string, string>();

  constructor(
    private readonly from: TrustedSource,
    private readonly files: HostFiles,
    private readonly host: HostPort,
    private readonly releases?: KnownReleases,
  ) {}

  /**
   * Returns undefined if no catalogue is trusted, as for the official site. Read once, and again after something was
   * not found.
   */
  catalogue(): Promise<MirrorCatalogue | undefined> {
    this.loaded ??= this.readCatalogue().catch((error: unknown) => {
      this.loaded = undefined;
      throw error;
    });
    return this.loaded;
  }

  /** The current catalogue; the last one is kept if it cannot be read. */
  async look(): Promise<MirrorCatalogue | undefined> {
    const catalogue = await this.readCatalogue();
    // Only checks that the source responds; the contents are not used.
    if (!usesCatalogue(this.from.trust)) await this.from.files.text(mirrorPaths.catalogue);
    this.loaded = Promise.resolve(catalogue);
    return catalogue;
  }

  /** Returns undefined for a source without a catalogue. Fails if a catalogue lacks this version. */
  async release(version: string): Promise<MirrorRelease | undefined> {
    const catalogue = await this.catalogue();
    if (catalogue === undefined) return undefined;
    const release = releaseIn(catalogue, version);
    if (release !== undefined) return release;
    this.loaded = undefined;
    const there = catalogue.releases.map((each) => each.version).join(', ') || 'no version at all';
    throw this.failure('read the mirror', mirrorPaths.catalogue, `it has no ${version}, only ${there}`);
  }

  /**
   * The SHA-256 in lowercase hex: from the catalogue, otherwise from the connection, otherwise from the releases that
   * Fairlead supports.
   */
  async sha256Of(path: string): Promise<string> {
    const listed = (await this.catalogue())?.files.find((file) => file.path === path)?.sha256;
    const sha256 = listed ?? this.from.trust.digests?.[path] ?? pinnedSha256(path, this.releases?.all);
    if (sha256 !== undefined) return sha256;
    const message = 'no SHA-256 of it is known: it must be in the catalogue or in the digests of its source';
    throw this.failure('verify', path, message);
  }

  /** Installs the file at exactly this path of the host, atomically and only after verification. */
  async place(path: string, to: string, mode: number): Promise<void> {
    const sha256 = await this.sha256Of(path);
    if ((await this.foundAt(to, sha256)) === sha256) return;
    const beside = `${to}.fairlead-new`;
    const found = await this.from.files.get(path, beside, mode);
    if (found !== sha256) {
      await this.files.remove(beside);
      throw this.mismatch(path, sha256, found);
    }
    await this.host.rename(beside, to);
    await this.keep(to, sha256);
  }

  /** Provides the file for a command to read: in place, or downloaded. */
  async readable(path: string): Promise<Readable> {
    const place = this.from.files.inPlace(path);
    if (place !== undefined) {
      await this.verifyInPlace(path, place);
      return { path: this.files.at(place), release: () => Promise.resolve() };
    }
    const to = `${CACHE_FOLDER}/${path.replaceAll('/', '_')}`;
    await this.place(path, to, PRIVATE);
    return { path: this.files.at(to), release: () => this.files.remove(to) };
  }

  /**
   * A folder of the mirror that the host can read in place, after verifying this list in it; undefined if it cannot.
   */
  async folder(path: string, list: string): Promise<string | undefined> {
    const place = this.from.files.inPlace(path);
    if (place === undefined) return undefined;
    await this.verifyInPlace(`${path}/${list}`, `${place}/${list}`);
    return this.files.at(place);
  }

  private async verifyInPlace(path: string, place: string): Promise<void> {
    const desired = await this.sha256Of(path);
    const found = await this.foundAt(place, desired);
    if (found === undefined) throw this.failure('read', path, 'there is no such file');
    if (found !== desired) throw this.mismatch(path, desired, found);
  }

  /** The SHA-256 of a file of the host. A verified file is not read again while its identity is unchanged. */
  private async foundAt(place: string, desired: string): Promise<string | undefined> {
    const stat = await this.files.stat(place);
    if (stat === undefined) return undefined;
    if (this.verified.get(place) === `${stat.identity} ${desired}`) return desired;
    const found = await this.files.sha256(place);
    if (found === desired) this.verified.set(place, `${stat.identity} ${desired}`);
    return found;
  }

  /** After a rename, which changes the identity of a file. */
  private async keep(place: string, sha256: string): Promise<void> {
    const stat = await this.files.stat(place);
    if (stat !== undefined) this.verified.set(place, `${stat.identity} ${sha256}`);
  }

  private async readCatalogue(): Promise<MirrorCatalogue | undefined> {
    const { location, trust, files } = this.from;
    const path = mirrorPaths.catalogue;
    const fault = trustFault(location, isOfficial(location), trust);
    if (fault !== undefined)
      throw new ExternalFailure({ operation: 'trust', target: location, message: `it ${fault}` });
    if (!usesCatalogue(trust)) return undefined;
    const text = await files.text(path);
    if (text === undefined && trust.unsigned === true) return undefined;
    if (text === undefined) throw this.failure('read', path, 'there is no such file');
    const wrong = await catalogueFault(text, trust, () => files.text(signatureOf(path)));
    if (wrong !== undefined) throw this.failure('verify', path, wrong);
    return parseCatalogue(text, files.address(path));
  }

  /** The checksum may be wrong as well as the file, so both are read again next time. */
  private mismatch(path: string, desired: string, found: string): ExternalFailure {
    this.loaded = undefined;
    return this.failure('verify', path, `its SHA-256 is ${found}, not ${desired}`);
  }

  private failure(operation: string, path: string, message: string): ExternalFailure {
    return new ExternalFailure({ operation, target: this.from.files.address(path), message });
  }
}
