import type { StoredEvent } from '@fairlead/contracts';

/** The event's subject within its cluster; certificates are reported again after a change. */
const subjectOf = ({ data }: StoredEvent): string => {
  const about = data as { readonly node?: string; readonly addon?: string; readonly revision?: number };
  const others = 'certificates' in data ? JSON.stringify(data.certificates) : '';
  return `${about.node ?? about.addon ?? ''} ${about.revision ?? ''} ${others}`;
};

/**
 * A credential is issued again if the service was killed before the host received it: the first one is lost, and never
 * used.
 */
const MAY_COME_AGAIN = /VmCreated|NodeNotReady|VersionChanged|StepFailed|AgentCredentialIssued/;

/** Repeated facts without a change in between: a node may become Ready again after it was not. */
export const saidTwice = (events: readonly StoredEvent[]): readonly string[] => {
  const said = new Set<string>();
  return events.flatMap((event) => {
    if (event.type === 'NodeNotReady') {
      const { node } = event.data as { readonly node: string };
      said.forEach((line) => line.startsWith(`NodeReady ${node} `) && said.delete(line));
    }
    if (MAY_COME_AGAIN.test(event.type)) return [];
    const line = `${event.type} ${subjectOf(event)}`;
    if (said.has(line)) return [line];
    said.add(line);
    return [];
  });
};
