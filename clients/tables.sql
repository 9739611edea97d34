CREATE TABLE customers (
    id   sno PRIMARY KEY DEFAULT sno_generate(1),
    name text NOT NULL);
CREATE TABLE orders (
    id          sno PRIMARY KEY DEFAULT sno_generate(2),
    customer_id sno NOT NULL REFERENCES customers,
    related     sno[]);
