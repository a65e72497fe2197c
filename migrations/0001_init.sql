-- The whole state of the engine. What is derived (the vector index) lives in files beside the
-- database and may be deleted at any time. Times are milliseconds since 1970-01-01 UTC.

CREATE TABLE entry (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT, -- order of arrival; the key of vectors and links
  id            TEXT NOT NULL UNIQUE,              -- 16 hex digits, from project and content
  text          TEXT NOT NULL,
  title         TEXT,
  content_hash  TEXT NOT NULL,
  kind          TEXT NOT NULL,
  project       TEXT,
  state         TEXT NOT NULL,
  state_at      INTEGER NOT NULL,                  -- when the state was entered
  state_reason  TEXT NOT NULL DEFAULT '',
  created       INTEGER NOT NULL,
  channel       TEXT NOT NULL,
  actor         TEXT NOT NULL,
  conversation  TEXT,
  path          TEXT,
  offset        INTEGER,
  files         TEXT NOT NULL DEFAULT '[]',        -- JSON array of paths
  generated_by  TEXT,
  recalls       INTEGER NOT NULL DEFAULT 0,
  reprieves     INTEGER NOT NULL DEFAULT 0,
  reprieved_seq INTEGER NOT NULL DEFAULT 0,        -- newest seq of the project at the last reprieve
  connected     TEXT,                              -- descriptor whose links were computed; NULL: pending
  protected     INTEGER NOT NULL DEFAULT 0,
  origin        TEXT,                              -- user | assistant | tool | web; NULL: as the actor
  form          TEXT,                              -- derived: the fixed form that it is a copy of
  form_learned  INTEGER NOT NULL DEFAULT 0         -- derived: that form is a template
) STRICT;
-- Ageing counts the newer entries of a project and walks its buffered ones.
CREATE INDEX entry_project ON entry (project, seq);
CREATE INDEX entry_state ON entry (state, project, seq);
-- A tick looks for the entries that are not connected yet.
CREATE INDEX entry_connected ON entry (connected, seq);

-- Copies of one form in a project.
CREATE INDEX entry_form ON entry (form, project) WHERE form IS NOT NULL;

-- Forms that the store taught: words in order, * for a field. Derived: learned again from copies.
CREATE TABLE template (
  text        TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE vector (
  entry       INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
  descriptor  TEXT NOT NULL,
  text_hash   TEXT NOT NULL,                       -- hash of the embedded text: no text is embedded twice
  data        BLOB NOT NULL,                       -- f32 little-endian, unit length
  PRIMARY KEY (descriptor, entry)
) STRICT;
CREATE INDEX vector_text ON vector (descriptor, text_hash);
CREATE INDEX vector_entry ON vector (entry);

-- Entries that could not be embedded: tried a bounded number of times, then parked, never lost.
CREATE TABLE embed_failure (
  entry       INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
  descriptor  TEXT NOT NULL,
  attempts    INTEGER NOT NULL,
  reason      TEXT NOT NULL,
  parked      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (descriptor, entry)
) STRICT;

CREATE TABLE link (
  a           INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
  b           INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
  descriptor  TEXT NOT NULL,
  similarity  REAL NOT NULL,
  cosine      REAL NOT NULL,
  differing   TEXT,
  active      INTEGER NOT NULL DEFAULT 1,          -- 0: one end was merged or has expired
  PRIMARY KEY (a, b, descriptor)
) STRICT, WITHOUT ROWID;
-- Links are looked up from either end.
CREATE INDEX link_b ON link (b, descriptor);

-- The scale that the links of a descriptor were computed with: another one, and they are computed
-- again from their cosines.
CREATE TABLE link_scale (
  descriptor  TEXT PRIMARY KEY,
  mean        REAL NOT NULL,
  link        REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE provenance (
  proven      INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
  source      INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
  from_state  TEXT NOT NULL,
  active      INTEGER NOT NULL DEFAULT 1,          -- 0: the merge was undone or replaced
  PRIMARY KEY (proven, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX provenance_source ON provenance (source);

-- Clusters that did not become a proven entry, and why. The key is the hash of the member ids.
CREATE TABLE cluster (
  key         TEXT PRIMARY KEY,
  members     TEXT NOT NULL,                       -- JSON array of entry ids
  outcome     TEXT NOT NULL,
  reason      TEXT NOT NULL,
  attempts    INTEGER NOT NULL,
  next_try    INTEGER,
  updated     INTEGER NOT NULL,
  asked       TEXT NOT NULL DEFAULT ''             -- models and prompt it was judged with: others may do better
) STRICT, WITHOUT ROWID;

-- Lines of config files that are ours, or that state what an entry of ours says. A row outlives
-- its entry, so that the line of a forgotten entry can still be taken out.
CREATE TABLE route (
  entry       INTEGER NOT NULL,                    -- entry.seq, which is never used twice
  entry_id    TEXT NOT NULL,
  path        TEXT NOT NULL,                       -- resolved
  section     TEXT NOT NULL,                       -- JSON array of headings, outermost first
  line        TEXT NOT NULL,
  status      TEXT NOT NULL,                       -- written | known | withdrawn (by us) | deleted (by the user) | undone
  score       REAL NOT NULL,
  runners_up  TEXT NOT NULL DEFAULT '[]',
  updated     INTEGER NOT NULL,
  PRIMARY KEY (entry, path)
) STRICT;
CREATE INDEX route_path ON route (path, status);

-- Vectors of blocks of target files. Derived: may be emptied at any time.
CREATE TABLE section_vector (
  descriptor  TEXT NOT NULL,
  text_hash   TEXT NOT NULL,
  data        BLOB NOT NULL,                       -- f32 little-endian, unit length
  used        INTEGER NOT NULL,                    -- when it was last of use, to within a week
  PRIMARY KEY (descriptor, text_hash)
) STRICT, WITHOUT ROWID;
-- For dropping vectors of sections long gone.
CREATE INDEX section_vector_used ON section_vector (used);

CREATE TABLE tick (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  started     INTEGER NOT NULL,
  finished    INTEGER,
  trigger     TEXT NOT NULL,                       -- run | apply | undo | hook | schedule
  status      TEXT NOT NULL,                       -- running | done | incomplete | undone
  phases      TEXT NOT NULL,                       -- JSON array
  plan        TEXT,                                -- hash of the plan file that `apply` performs
  notes       TEXT NOT NULL DEFAULT '[]',          -- JSON array: what did not happen, and why
  nearest     TEXT NOT NULL DEFAULT '[]',          -- JSON array: bars of how near new entries were
  undoes      INTEGER REFERENCES tick (id)
) STRICT;

-- The journal: what each tick intended and did, in order.
CREATE TABLE step (
  tick        INTEGER NOT NULL REFERENCES tick (id),
  n           INTEGER NOT NULL,
  phase       TEXT NOT NULL,
  name        TEXT NOT NULL,
  entry       TEXT,
  data        TEXT NOT NULL,                       -- the step as JSON, vectors left out
  reason      TEXT NOT NULL,
  status      TEXT NOT NULL,                       -- intent | done | refused | undone
  detail      TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (tick, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX step_entry ON step (entry);

-- Writes to users' files: recorded with both contents before the write, closed after it.
CREATE TABLE file_write (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  tick        INTEGER NOT NULL REFERENCES tick (id),
  path        TEXT NOT NULL,
  before      BLOB,                                -- NULL: the file did not exist
  before_hash TEXT,
  after       BLOB,                                -- NULL: the file is removed
  after_hash  TEXT,
  status      TEXT NOT NULL                        -- intent | done | refused | conflict | undone
) STRICT;
CREATE INDEX file_write_tick ON file_write (tick);
CREATE INDEX file_write_path ON file_write (path);

-- One row a model request, opened before it is sent and closed after.
CREATE TABLE call (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  tick              INTEGER,
  purpose           TEXT NOT NULL,                 -- merge | substance | observe | canary | replay
  cluster           TEXT,
  attempt           INTEGER NOT NULL DEFAULT 1,
  provider          TEXT NOT NULL,
  host              TEXT NOT NULL,
  model             TEXT NOT NULL,                 -- as configured
  response_model    TEXT,                          -- as the reply names it
  prompt_version    TEXT NOT NULL,
  schema_mode       TEXT NOT NULL,
  thinking_mode     TEXT NOT NULL,
  temperature       REAL NOT NULL,
  pid               INTEGER NOT NULL,
  opened            INTEGER NOT NULL,
  closed            INTEGER,
  outcome           TEXT NOT NULL,                 -- open | answered | refused | timed_out | aborted | unknown
  reason            TEXT NOT NULL DEFAULT '',
  http_status       INTEGER,
  bytes_sent        INTEGER NOT NULL,
  counted_tokens    INTEGER,                       -- our own count of the prompt
  prompt_tokens     INTEGER,
  cached_tokens     INTEGER,
  completion_tokens INTEGER,
  reasoning_tokens  INTEGER,
  total_ms          REAL,
  load_ms           REAL,
  prompt_ms         REAL,
  generation_ms     REAL,
  queue_ms          REAL,
  reply             TEXT,                          -- bounded; empty when keeping replies is off
  digest            TEXT NOT NULL DEFAULT '',      -- names the question: the same one is not paid twice
  whole             INTEGER NOT NULL DEFAULT 0,    -- the reply is kept in full
  used              INTEGER NOT NULL DEFAULT 0     -- a run made something of the answer, or refused it
) STRICT;
CREATE INDEX call_outcome ON call (outcome);
CREATE INDEX call_opened ON call (opened);
-- Before a request: was the same asked and the answer not used?
CREATE INDEX call_digest ON call (digest);

-- The clusters that were asked about, as they were asked (`consolidate.keep_prompts`), for
-- `prompt replay`.
CREATE TABLE prompt (
  call        INTEGER PRIMARY KEY REFERENCES call (id) ON DELETE CASCADE,
  cluster     TEXT NOT NULL                        -- JSON: members, links, what it replaces
) STRICT;

-- A provider that said "not before": asked again by itself once the time is past.
CREATE TABLE pause (
  provider    TEXT PRIMARY KEY,
  until       INTEGER NOT NULL,
  reason      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What each reply was worth: one row a judged reply, also of those that were refused.
CREATE TABLE quality (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  call            INTEGER REFERENCES call (id),    -- NULL: extractive
  at              INTEGER NOT NULL,
  provider        TEXT NOT NULL,
  model           TEXT NOT NULL,                   -- as the reply names it
  cluster         TEXT NOT NULL,
  accepted        INTEGER NOT NULL,                -- proven entries made of it
  refused         TEXT NOT NULL,                   -- JSON array: names of what was refused
  coverage        REAL,                            -- share of the facts that the text itself kept
  quoted          INTEGER NOT NULL,                -- sentences quoted because the text lacked them
  bad_kinds       INTEGER NOT NULL,
  bad_attribution INTEGER NOT NULL,
  duplicate_title INTEGER NOT NULL,
  no_file         INTEGER NOT NULL,
  kept_reason     INTEGER,                         -- NULL: no source gave one
  chars_in        INTEGER NOT NULL,
  chars_out       INTEGER NOT NULL,
  text_hash       TEXT NOT NULL,                   -- equal for clusters that got the same text
  purpose         TEXT NOT NULL DEFAULT 'merge'    -- merge | observe
) STRICT;
CREATE INDEX quality_at ON quality (at);

-- How far each conversation file was read, with a check of what came before.
CREATE TABLE conversation (
  path        TEXT PRIMARY KEY,                    -- or its hash, where the project is not captured
  session     TEXT,
  project     TEXT,
  offset      INTEGER NOT NULL,                    -- end of the last complete line that was read
  tail_hash   TEXT NOT NULL DEFAULT '',            -- length and hash of the bytes before the offset
  size        INTEGER NOT NULL DEFAULT 0,
  modified    INTEGER NOT NULL DEFAULT 0,
  last_read   INTEGER NOT NULL,
  problem     TEXT NOT NULL DEFAULT '',
  sitting     TEXT NOT NULL DEFAULT ''             -- JSON: what was done and has no record yet
) STRICT;

-- Sources (conversations, notes files) that said an entry, so that none is counted twice.
CREATE TABLE sighting (
  entry       INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
  source      TEXT NOT NULL,
  said        INTEGER NOT NULL,
  PRIMARY KEY (entry, source)
) STRICT, WITHOUT ROWID;

-- The observer's queue: events cut from conversations, redacted. A row is written with the cursor of
-- its conversation and stays until a model has judged it; its events are dropped then, the row stays,
-- so that a file that is read again is not observed again.
CREATE TABLE batch (
  key         TEXT PRIMARY KEY,                    -- 16 hex digits, from conversation and events
  batch       TEXT NOT NULL,                       -- JSON
  state       TEXT NOT NULL,                       -- waiting | leased | observed | declined | refused | halved | stuck
  attempts    INTEGER NOT NULL,
  next_try    INTEGER,
  reason      TEXT NOT NULL DEFAULT '',
  asked       TEXT NOT NULL DEFAULT '',            -- models and prompt it was judged with: others may do better
  said        INTEGER NOT NULL,                    -- when its last event happened
  lease_pid   INTEGER,                             -- who is at it; free again when that process is gone
  lease_until INTEGER,                             -- or when this time is past
  updated     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- The oldest waiting batches are looked at first.
CREATE INDEX batch_state ON batch (state, said);

-- Longer texts that a person gave: searched like entries, never aged.
CREATE TABLE document (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT NOT NULL UNIQUE,              -- 16 hex digits, from project and source
  source        TEXT NOT NULL,                     -- URL, resolved path, or the name it was given
  origin        TEXT NOT NULL,                     -- text | url | file
  title         TEXT NOT NULL,
  project       TEXT,
  tags          TEXT NOT NULL DEFAULT '[]',        -- JSON array of words
  text          TEXT NOT NULL,                     -- Markdown
  content_hash  TEXT NOT NULL,
  created       INTEGER NOT NULL,
  updated       INTEGER NOT NULL
) STRICT;
-- A text that is known is not stored again.
CREATE INDEX document_content ON document (content_hash);

-- The pieces of a document that are embedded and found.
CREATE TABLE chunk (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  document      INTEGER NOT NULL REFERENCES document (seq) ON DELETE CASCADE,
  n             INTEGER NOT NULL,                  -- position in the document, from 0
  heading       TEXT NOT NULL,                     -- headings above it, outermost first, joined by ' > '
  text          TEXT NOT NULL,
  UNIQUE (document, n)
) STRICT;

CREATE TABLE chunk_vector (
  chunk       INTEGER NOT NULL REFERENCES chunk (seq) ON DELETE CASCADE,
  descriptor  TEXT NOT NULL,
  data        BLOB NOT NULL,                       -- f32 little-endian, unit length
  PRIMARY KEY (descriptor, chunk)
) STRICT;
CREATE INDEX chunk_vector_chunk ON chunk_vector (chunk);

-- Words of entries (rowid = seq * 2) and of chunks (rowid = seq * 2 + 1). The program cuts text into
-- words itself (identifiers with their parts, paths, flags, pieces of CJK text), so this tokenizer
-- only has to split at spaces.
CREATE VIRTUAL TABLE term USING fts5 (
  title, body, content = '', contentless_delete = 1, detail = full,
  tokenize = "ascii tokenchars '_-./:+#@$'"
);
-- In how many texts a word is; search leaves the commonest words of a long query out.
CREATE VIRTUAL TABLE term_row USING fts5vocab (term, row);
CREATE TRIGGER entry_term_gone AFTER DELETE ON entry BEGIN
  DELETE FROM term WHERE rowid = old.seq * 2;
END;
CREATE TRIGGER chunk_term_gone AFTER DELETE ON chunk BEGIN
  DELETE FROM term WHERE rowid = old.seq * 2 + 1;
END;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
