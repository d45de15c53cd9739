/** Lists the servers of the backend with their addresses (haproxy's management guide, "show servers state"). */
export const ASK_SERVERS = 'show servers state control-planes';

const FIELDS = { name: 3, address: 4, port: 18 } as const;

/** A server in a form for comparison. */
export const serverOf = (server: {
  readonly name: string;
  readonly address: string;
  readonly port: number | string;
}): string => `${server.name} ${server.address}:${server.port}`;

/** The servers in a response, in order: one line each, after the format's version and the field names. */
export const serversIn = (answer: string): readonly string[] =>
  answer
    .split('\n')
    .slice(2)
    .filter((line) => line.trim() !== '')
    .map((line) => line.split(' '))
    .map((fields) =>
      serverOf({
        name: fields[FIELDS.name] ?? '',
        address: fields[FIELDS.address] ?? '',
        port: fields[FIELDS.port] ?? '',
      }),
    )
    .toSorted();
