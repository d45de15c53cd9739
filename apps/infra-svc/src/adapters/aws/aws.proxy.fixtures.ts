import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the proxy does to some calls of an action. */
export interface Fault {
  readonly action: string;
  times: number;
  /** Absent: the call hangs. */
  readonly status?: number;
  /** Absent: the error with this code and message, as EC2 says it. */
  readonly body?: string;
  readonly code?: string;
  readonly message?: string;
  /** The call is carried out all the same. */
  readonly isDone?: true;
  /** The answer is changed, and nothing else. */
  readonly rewrite?: (answer: string) => string;
  /** Only calls whose form contains this. */
  readonly with?: string;
}

const errorOf = ({ code = '', message = '' }: Fault): string =>
  `<?xml version="1.0"?><Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors><RequestID>req-1</RequestID></Response>`;

/** In front of a simulation of AWS: records the actions that are called, and injects faults. */
export class AwsProxy {
  faults: Fault[] = [];
  /** E.g. `ec2:RunInstances`. */
  readonly called = new Set<string>();
  /** The forms of all calls. */
  readonly forms: URLSearchParams[] = [];
  private readonly server: Server = createServer((incoming, answer) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => this.pass(incoming, Buffer.concat(parts), answer));
  });

  constructor(private readonly target: string) {}

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private pass({ method = '', url: path = '', headers }: IncomingMessage, body: Buffer, answer: ServerResponse): void {
    const form = body.toString();
    const parameters = new URLSearchParams(form);
    const action = parameters.get('Action') ?? '';
    this.forms.push(parameters);
    this.called.add(`${String(headers['authorization']).includes('/ec2/') ? 'ec2' : 'elasticloadbalancing'}:${action}`);
    const fault = this.faults.find(
      (one) => one.action === action && one.times > 0 && (one.with === undefined || form.includes(one.with)),
    );
    if (fault !== undefined) fault.times -= 1;
    const fail = (): void => {
      if (fault?.status === undefined) return;
      answer.writeHead(fault.status, { 'content-type': 'text/xml' }).end(fault.body ?? errorOf(fault));
    };
    if (fault !== undefined && fault.isDone === undefined && fault.rewrite === undefined) {
      fail();
      return;
    }
    const outgoing = request(new URL(path, this.target), { method, headers }, (response) => {
      const { rewrite } = fault ?? {};
      if (rewrite !== undefined) {
        const read: Buffer[] = [];
        response.on('data', (part: Buffer) => read.push(part));
        response.on('end', () =>
          answer.writeHead(response.statusCode ?? 500).end(rewrite(Buffer.concat(read).toString())),
        );
        return;
      }
      if (fault !== undefined) {
        response.resume().on('end', fail);
        return;
      }
      answer.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(answer);
    });
    outgoing.on('error', () => answer.destroy());
    outgoing.end(body);
  }
}
