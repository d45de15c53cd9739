import { refuse, type Refusal, type TemplateUse } from '@fairlead/contracts';
import {
  resolveTemplate,
  specBeforeUpgrade,
  templateNamed,
  type ClusterTemplate,
  type Declared,
} from '@fairlead/domain';
import type { ReadElsewhere } from '@fairlead/event-sourcing';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import type { Caller } from '../http/caller.js';
import { RefusalError, throwIfRefused } from '../http/refusal.error.js';
import { NodeQueries } from '../nodes/nodes.queries.js';
import { versionOf } from '../nodes/nodes.view.js';
import { TemplateCommands } from './templates.commands.js';
import { templateVersionFaults } from './templates.rules.js';

/** The template of a manifest that is applied. */
export interface TemplateChoice {
  readonly use: TemplateUse;
  /** Of a template that the cluster does not have yet: it must still be there, and may be chosen, when that is recorded. */
  readonly elsewhere: ReadElsewhere | undefined;
}

export interface ResolvedManifest {
  /** With the values of the template, and not validated. */
  readonly document: unknown;
  /** undefined: it names none. */
  readonly choice: TemplateChoice | undefined;
}

/** A manifest as it was written, about a cluster as it is declared. */
export interface Written {
  readonly document: unknown;
  /** undefined: there is no such cluster. */
  readonly declared: Declared | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Gives manifests the values of the templates that they name. */
@Injectable()
export class TemplateChoices {
  constructor(
    @Inject(TemplateCommands) private readonly templates: TemplateCommands,
    @Inject(NodeQueries) private readonly nodes: NodeQueries,
  ) {}

  /** The document of a manifest is well-formed but for what a template may give it. */
  async resolve(
    address: ClusterAddress,
    { document, declared }: Written,
    caller: Pick<Caller, 'identity' | 'requestId'>,
  ): Promise<ResolvedManifest> {
    const spec = isObject(document) ? document['spec'] : undefined;
    const name = isObject(spec) ? spec['template'] : undefined;
    if (!isObject(document) || !isObject(spec) || typeof name !== 'string') return { document, choice: undefined };
    const { namespace } = address;
    const { templates, elsewhere } = await this.templates.read(namespace, caller);
    const template = templateNamed(templates, name);
    if (template === undefined)
      throw new RefusalError(refuse('template.not-found', { namespace, template: name }, 'spec.template'));
    const { revision, cluster } = template;
    const isKept = declared?.template?.name === name && declared.template.revision === revision;
    if (!isKept) throwIfRefused(await this.choiceFaults(address, template, declared));
    const { value, faults } = resolveTemplate(spec, { name, cluster, current: declared?.spec, isKept });
    throwIfRefused(faults);
    return {
      document: { ...document, spec: value },
      choice: { use: { name, revision }, elsewhere: isKept ? undefined : elsewhere },
    };
  }

  /** Why a cluster that does not have the template cannot choose it. */
  private async choiceFaults(
    { namespace, cluster }: ClusterAddress,
    { name: template, deprecated, cluster: values }: ClusterTemplate,
    declared: Declared | undefined,
  ): Promise<readonly Refusal[]> {
    const refused = deprecated ? [refuse('template.deprecated', { template }, 'spec.template')] : [];
    if (declared === undefined) return refused;
    const nodes = await this.nodes.all(namespace, cluster);
    // Of a cluster without nodes nothing was made: its request is corrected, and nothing is upgraded.
    if (nodes.length === 0) return refused;
    const kubelets = nodes.map((node) => ({ node: node.name, version: versionOf(node) }));
    const before = specBeforeUpgrade(declared).version;
    return [...refused, ...templateVersionFaults({ template, before, after: values.version, kubelets })];
  }
}
