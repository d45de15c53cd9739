const SCHEMES: readonly string[] = ['http:', 'https:'];

/** Why a gate cannot be asked at this URL, whatever its host resolves to; undefined: nothing is wrong with the URL itself. */
export const faultOfGateUrl = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'it is not a URL';
  const { protocol, username, password, hostname } = new URL(text);
  if (!SCHEMES.includes(protocol)) return `its scheme is ${protocol.slice(0, -1)}, and only http and https are allowed`;
  if (username !== '' || password !== '') return 'it contains a user name or a password';
  return hostname === '' ? 'it names no host' : undefined;
};
