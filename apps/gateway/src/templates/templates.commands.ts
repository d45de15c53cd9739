import {
  namespaceStream,
  refuse,
  type ClusterTemplateManifest,
  type Namespace,
  type Refusal,
  type StoredEvent,
  type TemplateName,
} from '@fairlead/contracts';
import {
  completeTemplate,
  NO_TEMPLATES,
  templateNamed,
  type ClusterTemplate,
  type ClusterTemplates,
  templateFaults,
} from '@fairlead/domain';
import type { EventStore, ReadElsewhere } from '@fairlead/event-sourcing';
import { EVENT_STORE, HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { InstallationReleases } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { shownNames } from '../common/names.js';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, RefusalError, throwIfRefused } from '../http/refusal.error.js';
import { templates, type TemplateCommand, type TemplatesState } from './templates.decider.js';

export interface TemplateAddress {
  readonly namespace: Namespace;
  readonly template: TemplateName;
}

/** The templates of a namespace, and where its stream is: who decides by them depends on both. */
export interface TemplatesRead {
  readonly templates: ClusterTemplates;
  readonly elsewhere: ReadElsewhere;
}

export interface AppliedTemplate {
  readonly decided: Decided<TemplatesState>;
  /** As it is from here on, or would be. */
  readonly template: Omit<ClusterTemplate, 'revision' | 'seq' | 'createdAt'> & Partial<ClusterTemplate>;
}

interface ApplyOptions {
  readonly caller: Caller;
  readonly dryRun: boolean;
}

@Injectable()
export class TemplateCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(InstallationReleases) private readonly releases: InstallationReleases,
  ) {}

  /** As the log has them. */
  async read(namespace: Namespace, caller: Pick<Caller, 'identity' | 'requestId'>): Promise<TemplatesRead> {
    // Without its key: a read is no part of the command, so that a repetition of that reads again.
    const { identity, requestId } = caller;
    const { state = NO_TEMPLATES, seq } = await this.decide(
      { type: 'ReadTemplates', data: { namespace } },
      { identity, requestId },
    );
    return { templates: state, elsewhere: { stream: namespaceStream(namespace), seq } };
  }

  async apply(
    address: TemplateAddress,
    manifest: ClusterTemplateManifest,
    { caller, dryRun }: ApplyOptions,
  ): Promise<AppliedTemplate> {
    throwIfRefused([...misplaced(manifest, address), ...templateFaults(manifest, await this.releases.latest())]);
    const { description, deprecated } = manifest.spec;
    const cluster = completeTemplate(manifest.spec.cluster);
    const { resourceVersion } = manifest.metadata;
    const data = { ...address, description, deprecated, cluster, resourceVersion, dryRun };
    const decided = await this.decide({ type: 'ApplyTemplate', data }, caller);
    const now = templateNamed(decided.state ?? NO_TEMPLATES, address.template);
    return { decided, template: { ...now, name: address.template, description, deprecated, cluster } };
  }

  /** Clusters that have it are named; `usersOf` reads those that ever chose it, and have it still. */
  async delete(
    { namespace, template }: TemplateAddress,
    usersOf: (chosenBy: readonly string[]) => Promise<readonly string[]>,
    caller: Caller,
  ): Promise<Decided<TemplatesState>> {
    const users = async (): Promise<readonly string[]> => usersOf(await this.chosenBy(namespace, template));
    const { templates: before } = await this.read(namespace, caller);
    if (templateNamed(before, template) === undefined)
      throw new RefusalError(refuse('template.unknown', { namespace, template }));
    throwIfRefused(inUse(template, await users()));
    // From here on no cluster can choose it, so that who has it now is known for good.
    const { state } = await this.decide({ type: 'RetireTemplate', data: { namespace, template } }, caller);
    const retiredSeq = templateNamed(state ?? NO_TEMPLATES, template)?.seq ?? 0;
    const data = { namespace, template, retiredSeq, clusters: await users() };
    return this.decide({ type: 'DeleteTemplate', data }, caller);
  }

  /** Clusters that were declared with the template, whether they have it still or are there at all. */
  private async chosenBy(namespace: Namespace, template: TemplateName): Promise<readonly string[]> {
    const found = await this.store.read(`evt.*.${namespace}.*.request.ClusterTemplateChosen`, 0);
    const chosen = ({ event }: { readonly event: StoredEvent }): readonly string[] =>
      event.type === 'ClusterTemplateChosen' && event.data.template === template ? [event.meta.cluster] : [];
    return [...new Set(found.flatMap(chosen))].toSorted();
  }

  private async decide(
    command: TemplateCommand,
    caller: Pick<Caller, 'identity' | 'requestId'>,
  ): Promise<Decided<TemplatesState>> {
    return unwrap(await this.handle(templates, namespaceStream(command.data.namespace), command, causeOf(caller)));
  }
}

const inUse = (template: string, clusters: readonly string[]): readonly Refusal[] =>
  clusters.length === 0 ? [] : [refuse('template.in-use', { template, clusters: shownNames(clusters) })];

const misplaced = ({ metadata }: ClusterTemplateManifest, address: TemplateAddress): readonly Refusal[] => {
  const { name, namespace = address.namespace } = metadata;
  return [
    { field: 'metadata.name', given: name, expected: address.template },
    { field: 'metadata.namespace', given: namespace, expected: address.namespace },
  ].flatMap((one) => (one.given === one.expected ? [] : [refuse('template.manifest-address', one, one.field)]));
};
