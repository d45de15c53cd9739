import type { ClusterSurvey } from '../preflight/cluster.survey.effects.js';

/** What came of asking a URL. */
export type HttpAnswer =
  | { readonly kind: 'answered'; readonly status: number }
  /** It was not asked: no request was sent. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'silent'; readonly why: string };

/** Asks a URL that a user gave for its status, if its address is public or allowed by the administrator. */
export interface GateHttp {
  ask(url: string, signal: AbortSignal): Promise<HttpAnswer>;
}

/** Where gates get their answers, besides the API of the cluster. */
export interface GateSources {
  readonly survey: ClusterSurvey;
  readonly http: GateHttp;
}
