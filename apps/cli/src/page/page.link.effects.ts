import type { Api } from '../api/api.js';
import { CliFailure } from '../failures.js';

/** How the operator's page is opened. */
export interface PageLink {
  readonly url: string;
  /** When its code ends; absent: the link has none, and the page asks for a token. */
  readonly expiresAt?: string;
}

/** The code stands in the fragment, which browsers send to no server. */
const withCode = (server: string, code: string): string => `${server}/#/sign-in/${code}`;

const NO_CODES: ReadonlySet<string> = new Set(['session.code-elsewhere', 'route.unknown']);

/** A link that signs in once, on the machine of the gateway; elsewhere the page alone. */
export const pageLink = async (api: Api): Promise<PageLink> => {
  try {
    const { code, expiresAt } = (await api.post('/sign-in/codes')).data;
    return { url: withCode(api.access.server, code), expiresAt };
  } catch (error) {
    if (error instanceof CliFailure && NO_CODES.has(error.code)) return { url: `${api.access.server}/` };
    throw error;
  }
};
