import { AGENT_PATHS, type ClusterUid } from '@fairlead/contracts';
import { replaceFile } from '../software/item.js';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import { AgentState } from './agent.state.js';

/**
 * Returns undefined if there is no readable state of this cluster; the agent then requests its last facts from the
 * services.
 */
export const loadState = async (host: HostPort, uid: ClusterUid, log: AgentLog): Promise<AgentState | undefined> => {
  const text = await host.readFile(AGENT_PATHS.state);
  if (text === undefined) return undefined;
  try {
    const state = AgentState.parse(JSON.parse(text));
    if (state.uid === uid) return state;
    log('info', 'the local state belongs to another cluster and is forgotten', { theirs: state.uid, ours: uid });
  } catch (error) {
    log('warn', 'the local state cannot be read and is forgotten', { cause: String(error) });
  }
  return undefined;
};

export const saveState = (host: HostPort, state: AgentState): Promise<void> =>
  replaceFile(host, AGENT_PATHS.state, `${JSON.stringify(state)}\n`, 0o600);
