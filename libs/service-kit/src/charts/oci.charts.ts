import { ChartDigest } from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import pLimit from 'p-limit';
import * as z from 'zod';
import type { HttpDownload } from '../checked.http.js';
import { downloadFrom, DownloadFailure, safeWords, type RepositoryHttp } from '../repository.download.js';
import { basicOf, checkedArchive } from './chart.archive.js';
import { ARCHIVE_BYTES_MAX, INDEXED_MAX, REGISTRY_ANSWER_BYTES_MAX, TAG_PAGES_MAX } from './chart.limits.js';
import {
  ChartFailure,
  type ChartAt,
  type ChartRepository,
  type ChooseVersions,
  type IndexedVersion,
} from './charts.ports.js';
import { challengeIn, chartVersionOf, nextPageIn, registryOf, tagOf, tokenUrlOf, type Registry } from './oci.rules.js';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CHART_LAYER = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';
const TIME_LIMIT_MS = 25_000;
const OK = 200;
const UNAUTHORIZED = 401;
const NOT_FOUND = 404;
const MANIFESTS_AT_ONCE = 4;

const Tags = z.object({ tags: z.array(z.string().max(200)).nullish() });
const Token = z.object({ token: z.string().optional(), access_token: z.string().optional() });
const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const Manifest = z.object({
  layers: z.array(z.object({ mediaType: z.string(), digest: Digest })).max(100),
});

type Answered = Extract<HttpDownload, { readonly kind: 'answered' }>;

interface Wanted {
  readonly url: string;
  readonly accept?: string;
}

interface Session {
  readonly at: ChartAt;
  readonly registry: Registry;
  /** The Authorization header that the registry requires; undefined: none, as far as known. */
  authorization: string | undefined;
}

const unreachable = (words: string): ChartFailure => new ChartFailure('RepositoryUnreachable', safeWords(words));
const invalid = (words: string): ChartFailure => new ChartFailure('IndexInvalid', safeWords(words));

const parsed = <Value>(schema: z.ZodType<Value>, bytes: Buffer, what: string): Value => {
  try {
    return schema.parse(parseJson(bytes.toString('utf8'), { lengthMax: REGISTRY_ANSWER_BYTES_MAX }));
  } catch {
    throw invalid(`the registry answered with something that is not ${what}`);
  }
};

/** Charts in a registry, as written by `helm push`: a manifest per version, with the archive as its layer. */
export class OciCharts implements ChartRepository {
  constructor(private readonly http: RepositoryHttp) {}

  async versions(at: ChartAt, choose: ChooseVersions, signal: AbortSignal): Promise<readonly IndexedVersion[]> {
    const session: Session = { at, registry: registryOf(at), authorization: undefined };
    const known = (await this.tags(session, signal)).map(chartVersionOf);
    const chosen = new Set(choose(known));
    const inTurn = pLimit(MANIFESTS_AT_ONCE);
    return Promise.all(
      known.map(async (version) =>
        chosen.has(version)
          ? inTurn(() => this.indexed(session, version, signal))
          : { version, appVersion: '', digest: undefined, deprecated: false, url: session.registry.base },
      ),
    );
  }

  async archive(at: ChartAt, indexed: IndexedVersion, signal: AbortSignal): Promise<Buffer> {
    const session: Session = { at, registry: registryOf(at), authorization: undefined };
    // The token is obtained with a small request: a download has other limits, and its rejection would be ambiguous.
    await this.get(
      session,
      { url: `${session.registry.base}/manifests/${tagOf(indexed.version)}`, accept: MANIFEST },
      signal,
    );
    const { repository } = session.registry;
    const file = { repository, ca: at.ca, url: indexed.url, bytesMax: ARCHIVE_BYTES_MAX };
    try {
      const { authorization } = session;
      return checkedArchive(indexed, await downloadFrom(this.http, { ...file, authorization }, signal));
    } catch (error) {
      if (!(error instanceof DownloadFailure)) throw error;
      throw new ChartFailure(error.isTooLarge ? 'ArchiveInvalid' : 'RepositoryUnreachable', error.message);
    }
  }

  private async tags(session: Session, signal: AbortSignal): Promise<readonly string[]> {
    const { registry } = session;
    const tags: string[] = [];
    let url: string | undefined = `${registry.base}/tags/list?n=1000`;
    for (let page = 0; url !== undefined && page < TAG_PAGES_MAX; page += 1) {
      const answer: Answered = await this.get(session, { url }, signal);
      tags.push(...(parsed(Tags, answer.bytes, 'a list of tags').tags ?? []));
      if (tags.length > INDEXED_MAX) throw invalid(`the registry has more than ${INDEXED_MAX} versions`);
      url = nextPageIn(answer.link, url);
    }
    return tags;
  }

  private async indexed(session: Session, version: string, signal: AbortSignal): Promise<IndexedVersion> {
    const url = `${session.registry.base}/manifests/${tagOf(version)}`;
    const { bytes } = await this.get(session, { url, accept: MANIFEST }, signal);
    const { layers } = parsed(Manifest, bytes, 'a manifest');
    const layer = layers.find(({ mediaType }) => mediaType === CHART_LAYER);
    if (layer === undefined) throw new ChartFailure('ArchiveInvalid', `version ${safeWords(version)} is no chart`);
    const digest = ChartDigest.parse(layer.digest.slice('sha256:'.length));
    // Manifests do not contain the application version.
    return {
      version,
      appVersion: '',
      digest,
      deprecated: false,
      url: `${session.registry.base}/blobs/${layer.digest}`,
    };
  }

  /** The registry names its token service; without one, it expects the credentials themselves. */
  private async get(session: Session, wanted: Wanted, signal: AbortSignal): Promise<Answered> {
    const first = await this.send(session, wanted, signal);
    if (first.status !== UNAUTHORIZED) return this.known(session, first);
    session.authorization = await this.authorization(session, first.challenge, signal);
    return this.known(session, await this.send(session, wanted, signal));
  }

  private known({ registry, at }: Session, answer: Answered): Answered {
    if (answer.status === OK) return answer;
    if (answer.status === NOT_FOUND) throw unreachable(`${registry.host} has no chart ${at.chart} at this place`);
    const why = answer.status === UNAUTHORIZED ? ': it does not accept the credentials, or needs some' : '';
    throw unreachable(`${registry.host} answers ${answer.status}${why}`);
  }

  private async authorization(session: Session, challenge: string, signal: AbortSignal): Promise<string | undefined> {
    const { at, registry } = session;
    const basic = at.credentials && basicOf(at.credentials);
    const wanted = challengeIn(challenge);
    if (wanted === undefined) return basic;
    const url = tokenUrlOf(wanted, registry);
    if (url === undefined) throw unreachable(`${registry.host} refers to something else than an https URL for tokens`);
    // The token service may be another host than the registry, which vouches for it.
    const answer = await this.send({ ...session, authorization: basic }, { url }, signal);
    if (answer.status !== OK) throw unreachable(`${new URL(url).host} gives no token: it answers ${answer.status}`);
    const { token, access_token: other } = parsed(Token, answer.bytes, 'a token');
    return `Bearer ${token ?? other ?? ''}`;
  }

  private async send({ at, authorization }: Session, { url, accept }: Wanted, signal: AbortSignal): Promise<Answered> {
    const headers = {
      ...(accept === undefined ? {} : { accept }),
      ...(authorization === undefined ? {} : { authorization }),
    };
    const limits = { timeLimitMs: TIME_LIMIT_MS, answerBytesMax: REGISTRY_ANSWER_BYTES_MAX };
    const answer = await this.http.download(url, { method: 'GET', headers, ca: at.ca, ...limits }, signal);
    if (answer.kind === 'answered') return answer;
    if (answer.kind === 'silent' && answer.isTooLarge === true) throw invalid(answer.why);
    throw unreachable(`${new URL(url).host} does not answer: ${answer.why}`);
  }
}
