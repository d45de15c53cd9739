import type { HttpAnswer, HttpPost } from '@fairlead/service-kit/http';

/** Asks a URL of a manifest, if its address is public or allowed by the administrator. */
export interface HookHttp {
  post(url: string, post: HttpPost, signal: AbortSignal): Promise<HttpAnswer>;
}
