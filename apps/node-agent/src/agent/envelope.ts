import { EVENTS, type AgentConfig, type Envelope } from '@fairlead/contracts';
import type { Pending, Position } from './agent.state.js';

/** The message as it is stored: everything that services read beside the data, and the link to the message before it. */
export const envelopeOf = (
  config: Pick<AgentConfig, 'namespace' | 'cluster' | 'node'>,
  fact: Pending,
  after: Position,
): Envelope => {
  const type = `${fact.type}.v${EVENTS[fact.type].version}`;
  return {
    specversion: '1.0',
    id: fact.id,
    source: `/node-agent/${config.node}`,
    type,
    subject: `${config.namespace}/${config.cluster}`,
    time: fact.time,
    datacontenttype: 'application/json',
    dataschema: `fairlead:events/${type}`,
    // A fact that nothing in the log led to is the first cause of what follows from it; its own cause is the node.
    correlationid: fact.because?.correlationId ?? fact.id,
    causationid: fact.because?.causationId ?? `node/${config.node}`,
    actor: `node/${config.node}`,
    streamversion: after.streamVersion + 1,
    prevhash: after.hash,
    data: fact.data,
  };
};
