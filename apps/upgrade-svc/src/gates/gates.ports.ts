import type { HookSigner, HttpAnswer } from '@fairlead/service-kit/http';
import type { ClusterSurvey } from '../preflight/cluster.survey.effects.js';

/** Requests a user-defined URL for its status, if its address is public or allowed by the administrator. */
export interface GateHttp {
  ask(url: string, signal: AbortSignal, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>;
}

/** What gates query besides the API of the cluster. */
export interface GateSources {
  readonly survey: ClusterSurvey;
  readonly http: GateHttp;
  /** Signs requests with the hook secrets of the namespace. */
  readonly signer: Pick<HookSigner, 'sign'>;
}
