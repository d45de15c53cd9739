/** One request: its kind of connection, start, duration, and who answered, or the error. */
export interface RecordedRequest {
  readonly kind: 'new' | 'kept' | 'watch';
  readonly at: number;
  readonly ms: number;
  readonly said: string;
}

export interface ApiClients {
  readonly host: string;
  readonly port: number;
  /** Servers that must have answered before the clients start. */
  readonly numbers: readonly number[];
  readonly folder: string;
  readonly forMs: number;
}

export const CUT_OFF = 'cut off';
/** The timeout of Kubernetes clients for a read. */
const LIMIT_MS = 10_000;
const MANY = 30_000;

/**
 * A program that runs clients of an API concurrently: ten requests per second over new connections, each with its own
 * timer; sequential requests over four kept connections, like those of client-go; four watches. Once they have started,
 * the file `begun` is in the folder, and after the duration the file `seen` with the results.
 */
export const apiClients = ({ host, port, numbers, folder, forMs }: ApiClients): readonly string[] => [
  '-e',
  `const { Agent, get } = require('node:https');
   const { renameSync, writeFileSync } = require('node:fs');
   const seen = [];
   const ask = (kind, path, agent, limitMs) => new Promise((resolve) => {
     const at = Date.now();
     const timer = setTimeout(() => end('no answer'), limitMs);
     const end = (said) => { clearTimeout(timer); seen.push({ kind, at, ms: Date.now() - at, said }); resolve(said); };
     const asked = get({ host: '${host}', port: ${port}, path, rejectUnauthorized: false, agent }, (answer) => {
       let said = '';
       answer.on('data', (bytes) => (said += bytes)).on('error', () => end('${CUT_OFF}')).on('end', () => end(said));
     });
     asked.on('error', () => end('${CUT_OFF}'));
   });
   const pause = () => new Promise((resolve) => setTimeout(resolve, 100));
   const write = (name, text) => { writeFileSync('${folder}/next', text); renameSync('${folder}/next', '${folder}/' + name); };
   (async () => {
     const missing = new Set(${JSON.stringify(numbers.map(String))});
     for (let tries = 0; missing.size > 0 && tries < ${MANY}; tries += 1) { missing.delete(await ask('new', '/', false, 1_000)); await pause(); }
     const until = Date.now() + ${forMs};
     const asking = [];
     const fresh = async () => { while (Date.now() < until) { asking.push(ask('new', '/', false, ${LIMIT_MS})); await pause(); } };
     const kept = async () => {
       const agent = new Agent({ keepAlive: true, maxSockets: 1 });
       while (Date.now() < until) { await ask('kept', '/', agent, ${2 * LIMIT_MS}); await pause(); }
     };
     // One kind after the other: servers take turns, so each has connections of each kind.
     const four = (begin) => Array.from({ length: 4 }, begin);
     const all = [...four(kept), ...four(() => ask('watch', '/watch', false, ${forMs})), fresh()];
     setTimeout(() => write('begun', ''), 2_000);
     await Promise.all(all);
     await Promise.all(asking);
     write('seen', JSON.stringify(seen));
     process.exit();
   })();`,
];
