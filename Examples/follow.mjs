// A reader in JavaScript: keeps a map of all earthquakes up to date over HTTP, from `quakes serve`. It needs Node.js 18 or later,
// and no packages.
//
//     node Examples/follow.mjs http://127.0.0.1:8080
//
// If the server restarts or the network fails, it connects again and catches up. It ends on Ctrl-C and on SIGTERM.

const [base] = process.argv.slice(2);
const quakes = new Map();
let position = null; // the position at the end of the last complete pass
// The stream counts as dead after this time without data, in ms. The server sends something at least every 20 s.
const patience = 60_000;

/** Follows the changes until the connection is lost. */
async function follow() {
  const silence = new AbortController();
  const answer = await fetch(`${base}/changes${position ? `?after=${position}` : ""}`, { signal: silence.signal });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  let pass = []; // the lines since the last position; the server sends an incomplete pass again
  let rest = "";
  let timer = null;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error("the server is silent")), patience);
  };
  try {
    wait();
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      wait();
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines.filter((each) => each !== "").map((each) => JSON.parse(each))) {
        if (line.store) {
          take(pass, line);
          pass = [];
        } else pass.push(line);
      }
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error("the server has ended the stream");
}

/** Applies a pass, and stores the position at its end. */
function take(pass, { token, committed_at: time, nonce, store }) {
  for (const line of pass) {
    if (line.snapshot) quakes.clear(); // all rows follow: the first start, or an invalid position
    else if (line.operation) {
      // In a pass, only an event's last change has its row. If the last change has none, the event was deleted.
      quakes.delete(line.key);
      if (line.row) quakes.set(line.key, line.row);
    } else quakes.set(line.row.code, line.row);
  }
  position = [token, time, nonce, store].join("_");
  console.log(`${quakes.size} earthquakes at token ${token}`);
}

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
for (let wait = 1; ; wait = Math.min(2 * wait, 30)) {
  const before = position;
  try {
    await follow();
  } catch (error) {
    const reason = error.cause?.code ?? error.cause?.message ?? error.message;
    if (position == null) {
      console.error(`follow.mjs: ${reason}`); // the first connection has to succeed; only later failures are retried
      process.exit(1);
    }
    if (position !== before) wait = 1;
    console.error(`follow.mjs: ${reason}; connecting again`);
  }
  await new Promise((done) => setTimeout(done, 1000 * wait * (0.5 + Math.random() / 2)));
}
