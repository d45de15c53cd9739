import type { EventData } from '@fairlead/contracts';

/** Facts that an agent may state; defined in `contracts`. */
export const OWN_EVENTS = [
  'NodeInitialized',
  'NodeInitializationFailed',
  'NodeReady',
  'NodeNotReady',
  'NodeDiverged',
  'VersionChanged',
  'NodeRebooted',
  'NodeChangeProgressed',
  'CertificatesReported',
  'ProbeFailed',
  'ProbeRecovered',
  'NodeAddressesReported',
  'VirtualAddressesProbed',
  'ApiAddressProbed',
  'NodeNetworkApplied',
  'NodeNetworkFailed',
] as const;
export type OwnEvent = (typeof OWN_EVENTS)[number];
export type AgentFact = { [K in OwnEvent]: { readonly type: K; readonly data: EventData<K> } }[OwnEvent];

export const isOwnEvent = (type: string): type is OwnEvent => (OWN_EVENTS as readonly string[]).includes(type);
