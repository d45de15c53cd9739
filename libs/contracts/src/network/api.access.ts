import { EVERYONE, isAddress, type Firewall } from './firewall.js';

/** Who may connect to the Kubernetes API on control planes, besides nodes, pods and Fairlead. */
export type ApiAccess =
  | { readonly to: 'everyone'; readonly why: 'declared' | 'not-closed' | 'balancer-unknown' }
  | { readonly to: 'networks'; readonly networks: readonly string[] };

type Declared = Pick<Firewall, 'enabled' | 'scope' | 'api'>;

/**
 * Who may connect to the Kubernetes API. `balancer`: the host of its load balancer, if it is known. A balancer with a
 * name connects from addresses that are not declared, unless `api` lists them: closing the API would cut it off from
 * its own nodes.
 */
export const apiAccessOf = (firewall: Declared | undefined, balancer: string | undefined): ApiAccess => {
  if (firewall === undefined || !firewall.enabled) return { to: EVERYONE, why: 'not-closed' };
  const { scope, api } = firewall;
  if (api === EVERYONE) return { to: EVERYONE, why: 'declared' };
  const isUnknown = balancer !== undefined && balancer !== '' && !isAddress(balancer);
  if (scope === 'api' && api === undefined && isUnknown) return { to: EVERYONE, why: 'balancer-unknown' };
  return { to: 'networks', networks: api ?? [] };
};

const ALWAYS = ['its nodes', 'its pods', 'Fairlead'];
/** A sentence names no more. */
const NAMED_MAX = 5;

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

const CLOSE = 'to close it, declare networks in spec.firewall.api';

/** The same in words, after "The Kubernetes API is open to". */
export const apiAccessText = (access: ApiAccess): string => {
  if (access.to === 'networks') {
    const named = access.networks.slice(0, NAMED_MAX);
    const others = access.networks.length - named.length;
    return listed([...ALWAYS, ...named, ...(others > 0 ? [`${others} more networks`] : [])]);
  }
  switch (access.why) {
    case 'declared':
      return EVERYONE;
    case 'not-closed':
      return `${EVERYONE}, because no firewall closes it`;
    case 'balancer-unknown':
      return `${EVERYONE}, because its load balancer has a name instead of an address; ${CLOSE}, its own among them`;
  }
};
