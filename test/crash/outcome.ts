import type { StoredEvent } from '@fairlead/contracts';

/** Events that depend on timing: reports of nodes, and repeated steps. */
const TIMING: ReadonlySet<string> = new Set([
  'VersionChanged',
  'NodeNotReady',
  'NodeLost',
  'NodeRecovered',
  'BootstrapStepFailed',
  'InfrastructureStepFailed',
  'NodeInitializationFailed',
  'CertificatesReported',
]);

interface NamedPart {
  readonly node?: string;
  readonly machine?: { readonly name: string };
  readonly addon?: string;
}

/**
 * Issued again if the service was killed before the host received it: the first credential is lost, and never used. The
 * host gets one in any case.
 */
const REISSUED = 'AgentCredentialIssued ';

/**
 * The part that must be the same however often a program was killed: the facts about a cluster, without those that
 * depend on timing.
 */
export const outcome = (events: readonly StoredEvent[], cluster: string): readonly string[] =>
  events
    .filter(({ type }) => !TIMING.has(type))
    .map((event) => {
      const { node, machine, addon } = event.data as NamedPart;
      return `${event.type} ${node ?? machine?.name ?? addon ?? ''}`;
    })
    .map((line) => line.replaceAll(cluster, '<cluster>').replaceAll(/-[a-z0-9]{5}(?= |$)/g, ''))
    .sort()
    .filter((line, index, lines) => line !== lines[index - 1] || !line.startsWith(REISSUED));
