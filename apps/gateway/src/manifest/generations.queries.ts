import {
  completeSpec,
  DeclaredSpec,
  MANIFEST_API_VERSION,
  MANIFEST_KIND,
  refuse,
  type ManifestGeneration,
  type ManifestGenerationList,
  type ManifestOfGeneration,
} from '@fairlead/contracts';
import { sentenceOfEvent } from '@fairlead/domain';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { History } from '../common/history.js';
import type { Exchange } from '../http/caller.js';
import { clusterUnknown } from '../http/command.answers.js';
import { RefusalError } from '../http/refusal.error.js';
import { TokenSlots } from '../limits/token.slots.js';
import { Incarnations } from '../namespaces/incarnations.js';
import { generationsOf, type Generation } from './generations.js';

const GENERATIONS_MAX = 100;
const CHANGES_MAX = 20;

type Reader = Pick<Exchange, 'caller' | 'response'>;

/** What a cluster was declared to be, by the log alone. */
@Injectable()
export class GenerationQueries {
  constructor(
    @Inject(History) private readonly history: History,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
  ) {}

  async all(address: ClusterAddress, reader: Reader): Promise<ManifestGenerationList> {
    const generations = await this.read(address, reader);
    const listed = generations.slice(-GENERATIONS_MAX).toReversed();
    const items = listed.map((one) => generationView(one, generations.length));
    return { kind: 'ManifestGenerationList', items, earlierLeftOut: generations.length - listed.length };
  }

  async one(address: ClusterAddress, number: number, reader: Reader): Promise<ManifestOfGeneration> {
    const generations = await this.read(address, reader);
    const found = generations[number - 1];
    if (found === undefined)
      throw new RefusalError(refuse('cluster.generation-unknown', { ...address, generation: number }));
    return manifestOf(address, found);
  }

  /** The history of a name is replayed, as for an audit, as far as it is the caller's to read. */
  private async read(
    { namespace, cluster }: ClusterAddress,
    { caller: { identity }, response }: Reader,
  ): Promise<readonly Generation[]> {
    const since = await this.incarnations.visibleAfter(namespace, identity);
    this.slots.take('audits', identity.tokenId, response);
    const generations = generationsOf(await this.history.events(namespace, cluster, since));
    if (generations.length === 0) throw new RefusalError(clusterUnknown({ namespace, cluster }));
    return generations;
  }
}

const generationView = ({ number, event, changes }: Generation, latest: number): ManifestGeneration => {
  const { seq, time, actor } = event.meta;
  // Of a creation every field would be listed: its manifest says it better.
  const differing = number === 1 ? [] : changes;
  return {
    generation: number,
    current: number === latest,
    event: { seq, type: event.type, time, actor, sentence: sentenceOfEvent(event) },
    changes: differing.slice(0, CHANGES_MAX).map((change) => ({ ...change })),
    changesLeftOut: Math.max(0, differing.length - CHANGES_MAX),
  };
};

const manifestOf = ({ namespace, cluster: name }: ClusterAddress, { declared }: Generation): ManifestOfGeneration => {
  const { labels, spec } = declared;
  return {
    apiVersion: MANIFEST_API_VERSION,
    kind: MANIFEST_KIND,
    metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
    spec: completeSpec(DeclaredSpec.parse(spec)),
  };
};
